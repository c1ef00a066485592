-- What a profile is asked, in this order.
size(1150, 400)
box(20, 20, 300, 80, {fill = "sky", text = "bytes / bandwidth", sub = "as predicted?", bold = true})
box(20, 160, 300, 80, {fill = "orange", text = "FLOPs / peak", sub = "which unit?", bold = true})
box(20, 300, 300, 80, {fill = "purple", text = "neither", sub = "something waits", bold = true})
arrow(170, 102, 170, 156)
arrow(170, 242, 170, 296)
text(186, 136, "below it")
text(186, 276, "below it")
for n, words in ipairs({
    {"near the bound: move less (fuse, tile, a smaller format)", "more bytes than predicted: sectors half used, data read again"},
    {"near the bound: do less (skip tiles), or another unit (tensor cores)", "more instructions than predicted: indices, conversions, spills"},
    {"latency: too few loads under way, copies not overlapped", "shared memory queues (banks), barriers, too few or unequal blocks"}}) do
    if n > 1 then step() end
    local y = 20 + (n - 1) * 140
    arrow(324, y + 40, 376, y + 40)
    text(390, y + 32, words[1], {size = 22})
    text(390, y + 66, words[2], {size = 22})
end
