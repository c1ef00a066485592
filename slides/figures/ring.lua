-- Three stages in a ring: one is multiplied, two are under way.
size(1150, 250)
text(10, 40, "round")
text(10, 100, "under way")
text(10, 165, "multiplied")
text(10, 230, "from stage")
for r = 0, 5 do
    local x = 150 + r * 165
    text(x + 75, 40, r, {at = "middle", bold = true})
    box(x, 68, 72, 50, {fill = "orange", text = r + 1, dash = true})
    box(x + 78, 68, 72, 50, {fill = "orange", text = r + 2, dash = true})
    box(x, 135, 150, 50, {fill = "purple", text = "tile " .. r, bold = true})
    text(x + 75, 230, r % 3, {at = "middle"})
end
