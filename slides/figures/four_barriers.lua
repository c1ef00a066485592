-- A round of lesson 12's loop: what is written, the barrier, who reads it.
size(1150, 260)
local stage = {{"load K, V", "orange", 240}, {"S = scale Q Kᵀ", "yellow", 250}, {"m, α, P", "yellow", 220}, {"l, O", "purple", 220}}
local after = {"tiles written", "row of S written", "row of P written", "all has been read"}
local x = 10
for n, s in ipairs(stage) do
    box(x, 60, s[3], 80, {fill = s[2], text = s[1], bold = true, size = 22})
    x = x + s[3]
    line(x + 20, 30, x + 20, 170, {wide = 6, color = "red"})
    text(n == 4 and 1145 or x + 20, 200, after[n], {at = n == 4 and "end" or "middle"})
    x = x + 40
end
path("M 1060 215 C 1060 260 700 250 400 250 C 100 250 20 235 20 150", {head = true, dash = true})
text(520, 240, "next tile", {at = "middle"})
