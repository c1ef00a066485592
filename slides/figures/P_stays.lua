-- What mma.sync leaves in a lane and what it wants there: the same places.
size(1150, 360)
text(40, 30, "S: two results D, side by side", {bold = true, size = 22})
text(660, 30, "P: one operand A of 16 columns", {bold = true, size = 22})
local function block(x, names, fill, size)
    text(x - 8, 105, "row g", {at = "end"})
    text(x - 8, 195, "g + 8", {at = "end"})
    for h = 0, 1 do
        for n = 0, 1 do
            box(x + n * 205, 70 + h * 90, 195, 70, {fill = fill, text = names[2 * h + n + 1], mono = true, size = 22})
        end
    end
    text(x + 97, 262, "columns 2t, 2t+1", {at = "middle"})
    text(x + 302, 262, "2t+8, 2t+9", {at = "middle"})
end
block(100, {"d0 d1", "d0' d1'", "d2 d3", "d2' d3'"}, "yellow")
block(720, {"a[0]", "a[2]", "a[1]", "a[3]"}, "orange")
arrow(515, 150, 620, 150, {wide = 4})
text(566, 120, "exp2, bf16", {at = "middle"})
text(566, 190, "same lane", {at = "middle"})
text(575, 330, "lane 4g + t. A row of S lies in four lanes: its maximum takes two shuffles, and alpha is where O is.", {at = "middle", size = 22})
