-- Lesson 11: a row of logits stays on the chip between its one read and its one write.
size(1150, 330)
text(10, 46, "memory", {bold = true})
text(10, 126, "the chip", {bold = true})
text(10, 296, "memory", {bold = true})
cells(110, 20, 24, 1, 43, 44, function() return "sky", "" end)
box(110, 98, 650, 50, {fill = "yellow", text = "registers: 8 pieces a thread, 64 KB"})
box(770, 98, 372, 50, {fill = "green", text = "shared memory: the rest, 35 KB"})
for _, x in ipairs({170, 240, 1040}) do
    arrow(x, 66, x, 95)
    arrow(x, 150, x, 181)
    arrow(x, 238, x, 267)
end
text(282, 90, "read once, 2 bytes a logit: pieces of 8, folded to m and l as they come")
box(110, 184, 1032, 52, {fill = "purple", text = "one barrier: LSE, the loss; then (softmax − target) / N over every piece that is kept"})
text(282, 260, "written once, 2 bytes a gradient: in the place of the logits")
cells(110, 270, 24, 1, 43, 44, function() return "orange", "" end)
