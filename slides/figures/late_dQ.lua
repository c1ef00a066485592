-- The schedule of lesson 26: two consumers, half a round apart. dQ of a round is multiplied in the next one.
size(1150, 370)
text(10, 72, "consumer 0", {bold = true})
text(10, 192, "consumer 1", {bold = true})
text(10, 335, "tensor cores", {bold = true})
local round, names = 480, {{"j", "j - 1", "j + 1"}, {"j + 1", "j", "j + 2"}}
-- One round of a consumer from x on, as far as it is drawn.
local function draw(x, y, fill, name, last)
    box(x, y, 80, 54, {fill = "green", text = "dS", sub = name[1], size = 19})
    box(x + 80, y, 70, 54, {fill = fill, text = "dV dK", sub = name[1], size = 18})
    box(x + 150, y, 70, 54, {fill = fill, text = "dQ", sub = name[2], size = 18})
    if last then return end
    box(x + 220, y, 100, 54, {fill = fill, text = "S dP", sub = name[3], size = 18})
    box(x + 320, y, 160, 54, {fill = "green", text = "P, dP - delta", sub = name[3], size = 18})
end
for r = 0, 1 do
    draw(140 + r * round, 40, "orange", names[r + 1], false)
    draw(380 + r * round, 160, "purple", names[r + 1], r == 1)
    box(220 + r * round, 303, 240, 54, {fill = "orange", text = "of 0", size = 19})
    if r == 0 then box(460, 303, 240, 54, {fill = "purple", text = "of 1", size = 19}) end
end
box(940, 303, 160, 54, {fill = "purple", text = "of 1", size = 19})
-- dS of the other consumer comes before dQ with it.
path("M 212 96 C 212 190 280 262 460 262 C 700 262 940 290 1030 218", {head = true, wide = 3})
path("M 452 158 C 520 118 720 140 800 98", {head = true, wide = 3})
text(140, 24, "arrows: the other consumer's dS, stored and fenced, before dQ is multiplied with it", {size = 19})
