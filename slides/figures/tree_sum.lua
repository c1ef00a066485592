-- The same sum, left to right and as a tree.
size(1150, 390)
local x = {3, 1, 4, 1, 5, 9, 2, 6}
text(10, 28, "left to right: 7 rounds", {bold = true, size = 22})
text(600, 28, "as a tree: 3 rounds", {bold = true, size = 22})
local sum = x[1]
for i, v in ipairs(x) do
    box(10 + (i - 1) * 66, 45, 58, 44, {fill = "sky", text = v})
    if i > 1 then
        sum = sum + v
        local y = 100 + (i - 2) * 36
        box(10 + (i - 1) * 66, y, 58, 32, {fill = i == 8 and "purple" or "yellow", text = sum})
    end
end
local level, y = x, 45
local left, step = 600, 66
while true do
    local next = {}
    for i, v in ipairs(level) do
        box(left + (i - 1) * step, y, 58, 44, {fill = #level == 1 and "purple" or y == 45 and "sky" or "yellow", text = v})
        if i % 2 == 0 then next[i // 2] = v + level[i - 1] end
    end
    if #level == 1 then break end
    for i = 1, #next do
        local to = left + step / 2 + (i - 1) * 2 * step + 29
        arrow(left + (2 * i - 2) * step + 29, y + 46, to - 8, y + 94)
        arrow(left + (2 * i - 1) * step + 29, y + 46, to + 8, y + 94)
    end
    level, y, left, step = next, y + 98, left + step / 2, 2 * step
end
