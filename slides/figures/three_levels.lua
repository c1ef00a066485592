-- A row of 4096 on a block of 256 threads.
size(1150, 390)
local function level(y, n, w, fill, words, title, how)
    local gap = (880 - n * w) / (n - (n > 1 and 1 or 0))
    for i = 0, n - 1 do box(n == 1 and 415 or 10 + i * (w + gap), y, w, 48, {fill = fill, text = words}) end
    text(910, y + 20, title, {bold = true})
    text(910, y + 45, how)
end
level(10, 32, 25, "sky", "", "row: 4096 numbers", "thread t: t, t + 256, ...")
level(120, 16, 48, "yellow", "", "256 partial results", "a thread each, in a loop")
level(230, 8, 90, "orange", "warp", "8 partial results", "after 5 rounds of shuffles")
level(340, 1, 130, "purple", "result", "1 result", "shared memory, 1 barrier")
for i = 0, 7 do
    arrow(55 + i * 112, 60, 55 + i * 112, 116)
    arrow(55 + i * 112, 170, 55 + i * 112, 226)
end
for i = 0, 7 do line(55 + i * 112, 280, 480 + (i - 3.5) * 12, 338) end
