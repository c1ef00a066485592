-- dK and dV are sums over queries, dQ is a sum over keys. Both walks go from the last tile to the
-- first.
size(1150, 330)
local function square(x, title, remark)
    text(x, 30, title, {bold = true, size = 22})
    cells(x + 100, 80, 4, 4, 80, 45, function(c, r) return "yellow", "" end)
    text(x + 90, 175, "queries", {at = "end"})
    text(x + 260, 68, "keys", {at = "middle"})
    text(x + 100, 322, remark)
end
square(10, "a block owns keys", "dK, dV: in registers, its own")
for c = 0, 3 do arrow(150 + c * 80, 262, 150 + c * 80, 80, {color = "blue", wide = 4}) end
square(590, "a block owns queries", "dQ: in registers, its own")
for r = 0, 3 do arrow(1010, 102 + r * 45, 688, 102 + r * 45, {color = "red", wide = 4}) end
