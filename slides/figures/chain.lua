-- Forward and backward as a chain.
size(1150, 300)
local names = {{"Q, K", "sky"}, {"S", "yellow"}, {"P", "yellow"}, {"O", "purple"}, {"loss", "white"}}
local back = {"dQ, dK", "dS", "dP", "dO", ""}
local steps = {"S = scale Q Kᵀ", "softmax by rows", "O = P V", ""}
for n, b in ipairs(names) do
    local x = 10 + (n - 1) * 250
    box(x, 60, 130, 60, {fill = b[2], text = b[1], bold = true, size = 24})
    if n < 5 then
        arrow(x + 134, 90, x + 246, 90)
        text(x + 190, 50, steps[n], {at = "middle"})
        box(x, 190, 130, 60, {fill = n == 4 and "red" or n == 1 and "green" or "grey", text = back[n], bold = true, size = 24})
        arrow(x + 246, 220, x + 134, 220, {color = "red"})
    end
end
box(510, 190, 130, 60, {fill = "grey", text = "dP, dV", bold = true, size = 24})
path("M 1075 122 C 1075 220 1050 220 1004 220", {color = "red"})
text(10, 290, "S, P, dP and dS are N × N: made again tile by tile, used, forgotten. Given: dO, O and LSE", {size = 22})
