-- A block of a model: forward to the right on top, the gradients back below it. Yellow is computed
-- again on the way back; each sum sends the gradient both ways.
size(1180, 560)
text(20, 30, "forward", {bold = true})
local function layer(x, y, what, fill)
    box(x, y, 112, 56, {fill = fill, text = what})
end
local names = {"norm1", "W_qkv", "attention", "W_proj", "norm2", "W_fc", "GELU", "W_out"}
local fills = {"yellow", "orange", "sky", "orange", "yellow", "orange", "yellow", "orange"}
local x = {70, 196, 322, 448, 640, 766, 892, 1018}
line(20, 100, 1170, 100, {wide = 4})
text(24, 88, "X")
text(590, 88, "X'")
text(1146, 88, "Y")
for i, name in ipairs(names) do
    layer(x[i], 140, name, fills[i])
    if i ~= 4 and i ~= 8 then arrow(x[i] + 112, 168, x[i + 1] - 1, 168) end
end
for _, at in ipairs({50, 620}) do
    line(at, 100, at, 168)
    arrow(at, 168, at + 19, 168)
end
for _, at in ipairs({580, 1148}) do
    line(at - 20, 168, at, 168)
    arrow(at, 168, at, 104)
end
text(70, 228, "kept: X, QKV, O, LSE, X', Z and the norms' statistics; computed again: both norms, GELU(Z)")

text(20, 290, "back: each layer takes the gradient by its output", {bold = true})
line(20, 350, 1170, 350, {wide = 4, color = "red"})
text(24, 338, "dX")
text(590, 338, "dX'")
text(1136, 338, "dY")
for i, name in ipairs(names) do
    layer(x[i], 390, name, fills[i])
    if i ~= 4 and i ~= 8 then arrow(x[i + 1], 418, x[i] + 113, 418, {color = "red"}) end
end
for _, at in ipairs({580, 1148}) do
    line(at, 350, at, 418, {color = "red"})
    arrow(at, 418, at - 19, 418, {color = "red"})
end
for _, at in ipairs({50, 620}) do
    line(at + 20, 418, at, 418, {color = "red"})
    arrow(at, 418, at, 354, {color = "red"})
end
text(70, 480, "the line on top is float; what enters a layer is rounded to bf16")
text(70, 514, "where two arrows meet, two gradients are added: dX' = dY + ..., dX = dX' + ...")
text(70, 548, "below each W: its dW, of what went in and what came back, and its db")
