-- Sums of a thread: 1, or 8 x 8: numbers fetched for multiply-adds done.
size(1150, 300)
local function square(x, n, cell, title, words)
    text(x, 28, title, {bold = true, size = 22})
    cells(x + 40, 85, n, n, cell, cell, function() return "purple", "" end)
    cells(x + 40, 48, n, 1, cell, 28, function() return "orange", "" end)
    cells(x, 85, 1, n, 30, cell, function() return "sky", "" end)
    for i, w in ipairs(words) do text(x + 60 + n * cell, 120 + i * 30, w) end
end
square(10, 1, 60, "one sum a thread", {"2 loads from shared memory", "1 multiply-add"})
square(520, 8, 25, "8 × 8 sums a thread, in registers", {"16 loads", "64 multiply-adds:", "an eighth of the loads", "for each of them"})
