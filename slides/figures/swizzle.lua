-- Eight rows of eight pieces of 16 bytes: the same piece of every row, in order and exchanged.
size(1150, 400)
local function tile(x, title, place)
    text(x, 28, title, {bold = true, size = 22})
    cells(x + 70, 44, 8, 8, 50, 40, function(c, r) return c == place(r) and "red" or "white", c == place(r) and "2" or "" end)
    for r = 0, 7 do text(x + 60, 70 + r * 40, "row " .. r, {at = "end"}) end
end
local function xor(a, b)
    local sum, bit = 0, 1
    for _ = 1, 3 do
        if (a // bit) % 2 ~= (b // bit) % 2 then sum = sum + bit end
        bit = 2 * bit
    end
    return sum
end
tile(10, "stored in order: one set of four banks", function() return 2 end)
tile(590, "stored at place = 2 xor row: all 32 banks", function(r) return xor(2, r) end)
text(80, 392, "piece 2 of 8 rows: 8 turns")
text(660, 392, "piece 2 of 8 rows: 1 turn")
