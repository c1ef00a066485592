-- The causal square for 11 queries and keys in tiles of 4: a column is a block, walked upwards.
size(1150, 470)
local cell, x0, y0 = 38, 130, 40
for tc = 0, 2 do
    for tr = 0, 2 do
        cells(x0 + tc * (4 * cell + 12), y0 + tr * (3.2 * cell + 12), tc == 2 and 3 or 4, tr == 2 and 3 or 4, cell, 0.8 * cell, function(c, r)
            local j, i = tc * 4 + c, tr * 4 + r
            if tc > tr then return "white", "" end
            if j > i then return "grey", "" end
            local part = tr == 2 and tc < 2 and 1 or tc == tr and 3 or 2
            return ({"orange", "blue", "red"})[part], part
        end, {size = 18})
    end
end
local w, h = 4 * cell + 12, 3.2 * cell + 12
for tc = 0, 2 do
    text(x0 + tc * w + 2 * cell, 28, "keys " .. ({"0–3", "4–7", "8–10"})[tc + 1], {at = "middle"})
    arrow(x0 + tc * w + 2 * cell, 460, x0 + tc * w + 2 * cell, 425, {wide = 4})
end
for tr = 0, 2 do text(120, y0 + tr * h + 65, ({"0–3", "4–7", "8–10"})[tr + 1], {at = "end"}) end
text(10, 28, "queries")
local function key(y, fill, part, title, words)
    box(640, y, 50, 50, {fill = fill, text = part})
    text(705, y + 20, title, {bold = true})
    text(705, y + 46, words)
end
key(50, "orange", 1, "part 1: the last rows, if they fill no tile", "loads and stores ask")
key(140, "blue", 2, "part 2: whole tiles, all seen", "no test at all; nearly all of the work")
key(230, "red", 3, "part 3: the diagonal, or the end of the keys", "a mask decides each pair")
key(320, "white", "", "hidden whole", "never loaded")
text(640, 440, "each block walks upwards: Q and dO are then in L2", {bold = true})
