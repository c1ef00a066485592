-- What an H200 is made of.
size(1150, 420)
box(10, 10, 1130, 250, {dash = true})
for n = 0, 2 do
    local x = 30 + n * 270
    box(x, 30, 250, 210, {fill = "grey"})
    text(x + 125, 58, n == 0 and "multiprocessor 0" or n == 1 and "1" or "2", {at = "middle", bold = true})
    box(x + 15, 70, 220, 44, {fill = "sky", text = "64 warps of 32 lanes"})
    box(x + 15, 122, 220, 44, {fill = "orange", text = "registers: 256 KB"})
    box(x + 15, 174, 220, 50, {fill = "green", text = "shared + L1: 256 KB"})
end
text(860, 140, "... 132 of them", {bold = true, size = 24})
arrow(575, 262, 575, 282)
box(200, 284, 750, 46, {fill = "yellow", text = "L2 cache: 60 MB, for all"})
arrow(575, 332, 575, 354)
box(60, 356, 1030, 50, {fill = "purple", text = "global memory (HBM): 141 GB"})
