-- A mask of blocks, its row lists and its column lists.
size(1150, 300)
text(20, 30, "mask of blocks", {bold = true, size = 22})
local m = {"1001", "0100", "0000", "0100"}
cells(20, 50, 4, 4, 60, 56, function(c, r)
    local one = m[r + 1]:sub(c + 1, c + 1) == "1"
    return one and "blue" or "white", one and "1" or "0"
end)
text(370, 30, "row lists: forward, dQ", {bold = true, size = 22})
text(780, 30, "column lists: dK, dV", {bold = true, size = 22})
for n, l in ipairs({{"0 3", "0"}, {"1", "1 3"}, {"(empty)", "(empty)"}, {"1", "0"}}) do
    local y = 50 + (n - 1) * 56
    text(370, y + 36, "row " .. n - 1)
    box(450, y + 6, 180, 44, {fill = "orange", text = l[1]})
    text(780, y + 36, "column " .. n - 1)
    box(895, y + 6, 180, 44, {fill = "green", text = l[2]})
end
