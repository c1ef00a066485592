-- Decoding: one query, a long cache, split among blocks and merged.
size(1150, 290)
box(10, 110, 110, 60, {fill = "sky", text = "1 query"})
for n = 0, 3 do
    local y = 10 + n * 70
    arrow(122, 140, 206, y + 28)
    box(210, y, 400, 56, {fill = "orange", text = "keys " .. n * 16384 .. " to " .. (n + 1) * 16384 - 1})
    arrow(612, y + 28, 676, y + 28)
    box(680, y, 150, 56, {fill = "yellow", text = "O, LSE"})
    arrow(832, y + 28, 926, 140)
end
box(930, 105, 200, 70, {fill = "purple", text = "merge: O", sub = "session 2's rule", bold = true})
