-- The loop of a tiled product.
size(1150, 190)
local x = 10
for n, s in ipairs({{"load a tile of A and of B", "sky"}, {"TILE multiply-adds each", "purple"}, {"load the next", "sky"}, {"multiply-adds", "purple"}}) do
    box(x, 30, 240, 70, {fill = s[2], text = s[1]})
    line(x + 258, 10, x + 258, 122, {wide = 6, color = "red"})
    text(n == 4 and 1145 or x + 258, 155, n % 2 == 1 and "all loaded" or "all read", {at = n == 4 and "end" or "middle"})
    x = x + 278
end
