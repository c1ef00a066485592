-- One request of a warp: neighbours, or a row apart.
size(1150, 330)
text(10, 30, "32 lanes read neighbours: 4 sectors of 32 bytes, all of them wanted", {bold = true, size = 22})
cells(10, 45, 32, 1, 35, 50, function(c) return (c // 8) % 2 == 0 and "sky" or "blue", "" end)
text(10, 160, "32 lanes read a column: 32 sectors, of which 4 bytes each are wanted", {bold = true, size = 22})
for n = 0, 3 do
    cells(10 + n * 285, 175, 8, 1, 31, 50, function(c) return c == 2 and "red" or "grey", "" end)
    text(134 + n * 285, 252, "lane " .. n, {at = "middle"})
end
text(10, 305, "A sector is the least that global memory moves. The grey part travels, too.", {size = 22})
