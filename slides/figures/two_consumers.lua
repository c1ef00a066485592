-- Two consumer warpgroups on a time line: what each does, and what the tensor cores do meanwhile.
size(1150, 340)
text(4, 62, "consumer 0", {bold = true})
text(4, 162, "consumer 1", {bold = true})
text(4, 262, "tensor cores", {bold = true})
local w = 112
for r = 0, 3 do
    local x = 150 + r * 2 * w
    box(x, 36, w, 46, {fill = "orange", text = "QK, PV", size = 19})
    box(x + w, 36, w, 46, {fill = "green", text = "softmax", size = 19})
    box(x + w, 136, w, 46, {fill = "purple", text = "QK, PV", size = 19})
    if r < 3 then box(x + 2 * w, 136, w, 46, {fill = "green", text = "softmax", size = 19}) end
    box(x, 236, w, 46, {fill = "orange", text = "of 0", size = 19})
    box(x + w, 236, w, 46, {fill = "purple", text = "of 1", size = 19})
    path(string.format("M %d 84 L %d 132", x + w - 30, x + w + 6), {head = true})
    if r < 3 then path(string.format("M %d 134 L %d 86", x + 2 * w - 30, x + 2 * w + 6), {head = true}) end
end
text(150, 322, "arrows: the turn is given on, by a named barrier", {size = 19})
