-- Along a row both times, by way of a tile.
size(1150, 270)
local function matrix(x, y, columns, rows, title, marked)
    text(x, y - 12, title, {bold = true})
    cells(x, y, columns, rows, 44, 44, function(c, r)
        local words = marked(c, r)
        return words and "orange" or "white", words or ""
    end)
end
matrix(10, 50, 6, 4, "in: lanes along a row", function(c, r) return r == 1 and c > 0 and c < 5 and tostring(c - 1) end)
arrow(285, 140, 355, 140, {wide = 3})
text(320, 120, "load", {at = "middle"})
matrix(370, 50, 4, 4, "tile: put in", function(c, r) return r == 1 and tostring(c) end)
line(562, 40, 562, 240, {wide = 6, color = "red"})
text(562, 262, "barrier", {at = "middle"})
matrix(590, 50, 4, 4, "tile: take out", function(c, r) return c == 2 and tostring(r) end)
arrow(780, 140, 850, 140, {wide = 3})
text(815, 120, "store", {at = "middle"})
matrix(865, 50, 6, 4, "out: lanes along a row", function(c, r) return r == 2 and c > 0 and c < 5 and tostring(c - 1) end)
