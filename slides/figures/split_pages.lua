-- Decoding: keys are split, their pages lie anywhere, a table says where; the last block merges.
size(1150, 420)
text(10, 30, "keys of one sequence, in tiles, split in three ranges")
local fill = {"orange", "green", "purple"}
for n = 0, 8 do
    box(10 + n * 90, 44, 86, 46, {fill = fill[n // 3 + 1], text = "split " .. n // 3})
end
text(10, 128, "the table: which page")
local page = {7, 2, 11, 4, 9, 0, 5, 12, 3}
for n = 0, 8 do
    box(10 + n * 90, 140, 86, 42, {text = tostring(page[n + 1]), mono = true})
end
text(10, 222, "the pool of pages, in memory")
local owner = {}
for n, p in ipairs(page) do owner[p] = fill[(n - 1) // 3 + 1] end
for p = 0, 12 do
    box(10 + p * 62, 234, 58, 42, {fill = owner[p] or "grey", text = tostring(p), mono = true})
end
text(10, 300, "grey: of other sequences", {size = 18})
for s = 0, 2 do
    local y = 44 + s * 96
    box(880, y, 120, 60, {fill = fill[s + 1], text = "O, LSE", sub = "ticket " .. ({1, 2, 0})[s + 1]})
    arrow(1002, y + 30, 1040, 170)
end
box(1042, 120, 100, 100, {fill = "yellow", text = "merge", sub = "last ticket", bold = true})
arrow(822, 66, 876, 66)
text(10, 350, "A block is a split of one key head of one sequence; its tiles' rows are the heads of the group.")
text(10, 384, "Split 1 drew the last of three tickets: it merges what all have left in the workspace.")
