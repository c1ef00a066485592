-- Parts of a row, folded by themselves, then merged.
size(640, 400)
local names = {"keys 0–31", "keys 32–63", "keys 64–95", "keys 96–127"}
for i, name in ipairs(names) do
    local x = (i - 1) * 160 + 5
    box(x, 20, 150, 56, {fill = "sky", text = name})
    arrow(x + 75, 78, x + 75, 106)
    box(x + 20, 110, 110, 50, {text = "(m, l, O)"})
end
for i = 0, 1 do
    local x = i * 320
    arrow(x + 80, 162, x + 145, 206)
    arrow(x + 240, 162, x + 175, 206)
    box(x + 105, 210, 110, 50, {text = "(m, l, O)"})
end
arrow(160, 262, 295, 316)
arrow(480, 262, 345, 316)
box(265, 320, 110, 56, {fill = "purple", text = "(m, l, O)", bold = true})
text(395, 355, "of the whole row")
