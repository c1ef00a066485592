-- C = A0 B0 + A1 B1 + A2 B2: a block of threads owns a tile of C.
size(700, 430)
local function tiles(x, y, columns, rows, fill, name, w, h)
    for n = 0, math.max(columns, rows) - 1 do
        box(x + (columns > 1 and n * w or 0), y + (rows > 1 and n * h or 0), w, h, {fill = fill, text = name .. n, bold = true})
    end
end
box(340, 10, 330, 192, {dash = true})
text(350, 34, "B (K, N)")
tiles(440, 10, 1, 3, "orange", "B", 80, 64)
box(10, 220, 312, 200, {dash = true})
text(20, 410, "A (M, K)")
tiles(10, 280, 3, 1, "sky", "A", 104, 64)
box(340, 220, 330, 200, {dash = true})
text(580, 410, "C (M, N)")
box(440, 280, 80, 64, {fill = "purple", text = "C", bold = true})
