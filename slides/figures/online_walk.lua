-- A row of scores, left to right, and the two numbers that are kept.
size(1150, 250)
local x = {1, 3, 2, 5, 4}
local m, l = -math.huge, 0
text(120, 50, "x", {at = "end", bold = true})
text(120, 125, "m", {at = "end", bold = true})
text(120, 180, "l", {at = "end", bold = true})
text(120, 235, "α", {at = "end", bold = true})
for i, v in ipairs(x) do
    local new = math.max(m, v)
    local alpha = math.exp(m - new)
    l = l * alpha + math.exp(v - new)
    if i > 1 then step() end
    local left = 150 + (i - 1) * 200
    box(left, 15, 190, 50, {fill = new > m and "orange" or "sky", text = v, bold = true, size = 24})
    arrow(left + 95, 67, left + 95, 96)
    m = new
    text(left + 95, 125, string.format("%g", m), {at = "middle", size = 24})
    text(left + 95, 180, string.format("%.3f", l), {at = "middle", size = 24})
    text(left + 95, 235, alpha == 1 and "1: m stays" or (alpha == 0 and "0" or string.format("%.3f", alpha)) .. ": moves l", {at = "middle"})
end
