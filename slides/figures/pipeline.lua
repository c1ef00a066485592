-- Copies arrive while the warps compute (lesson 14).
size(1150, 300)
text(10, 75, "copies", {bold = true})
text(10, 175, "warps", {bold = true})
box(110, 40, 190, 56, {fill = "green", text = "V(j)"})
box(300, 40, 330, 56, {fill = "orange", text = "K(j−1)"})
box(640, 40, 190, 56, {fill = "green", text = "V(j−1)"})
box(830, 40, 300, 56, {fill = "orange", text = "K(j−2)"})
box(110, 140, 190, 60, {fill = "yellow", text = "S = Q K(j)ᵀ"})
box(300, 140, 130, 60, {fill = "grey", text = "softmax"})
box(440, 140, 190, 60, {fill = "purple", text = "O += P V(j)"})
box(640, 140, 190, 60, {fill = "yellow", text = "S = Q K(j−1)ᵀ"})
box(830, 140, 130, 60, {fill = "grey", text = "softmax"})
box(970, 140, 160, 60, {fill = "purple", text = "O += P V"})
for n, b in ipairs({{105, "K(j) is here;", "V's place is free"}, {435, "V(j) is here", ""}, {635, "K(j−1) is here;", "V's place is free"}, {965, "V(j−1)", "is here"}}) do
    line(b[1], 112, b[1], 222, {wide = 5, color = "red"})
    text(n == 1 and 90 or b[1], 250, b[2], {at = n == 1 and "start" or "middle"})
    if b[3] ~= "" then text(n == 1 and 90 or b[1], 276, b[3], {at = n == 1 and "start" or "middle"}) end
end
