-- A row of blocks meets three kinds of tiles.
size(1150, 380)
local rows, tile, cell = 4, 4, 28
for t = 0, 4 do
    local x0 = 170 + t * 150
    cells(x0, 60, tile, rows, cell + 6, cell + 22, function(c, r)
        local key, visible = t * tile + c, 9 + 2 * r
        if t == 4 then return "white", "" end
        return key < visible and "yellow" or "grey", ""
    end)
    text(x0 + 68, 45, "tile " .. t, {at = "middle"})
end
text(10, 90, "first row", {})
text(10, 245, "last row", {})
arrow(170, 290, 455, 290, {color = "blue", wide = 4})
text(312, 320, "part 1: seen whole", {at = "middle", bold = true})
text(312, 346, "no mask at all", {at = "middle"})
arrow(470, 290, 755, 290, {color = "red", wide = 4})
text(612, 320, "part 2: crossed", {at = "middle", bold = true})
text(612, 346, "j < visible decides", {at = "middle"})
text(840, 320, "hidden whole:", {at = "middle", bold = true})
text(840, 346, "never loaded", {at = "middle"})
text(950, 140, "visible: one number", {})
text(950, 166, "a row says it all", {})
