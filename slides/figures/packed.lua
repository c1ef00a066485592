-- Rows of a tile are (query, head of the group) pairs.
size(1150, 216)
text(10, 60, "row")
text(10, 110, "query")
text(10, 160, "head")
for r = 0, 15 do
    local x = 110 + r * 64
    text(x + 29, 60, r, {at = "middle"})
    box(x, 80, 58, 46, {fill = (r // 3) % 2 == 0 and "sky" or "blue", text = r // 3})
    box(x, 132, 58, 46, {fill = "orange", text = r % 3})
end
text(110, 25, "block 0, group = 3: K and V of the key head are loaded once for all of these rows", {bold = true})
text(110, 206, "the mask asks for the query: row / group")
