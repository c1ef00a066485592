-- Three blocks of keys add to one row of dQ.
size(1150, 250)
for n = 0, 2 do
    box(20 + n * 220, 20, 200, 70, {fill = "orange", text = "block " .. n .. ": keys", sub = "dK, dV in registers", bold = true})
    arrow(120 + n * 220, 92, 345 + (n - 1) * 30, 165, {color = "red", wide = 4})
end
box(180, 168, 330, 60, {fill = "purple", text = "dQ of a query, fp32, in memory"})
text(700, 60, "atomicAdd: nothing is lost,", {size = 22})
text(700, 92, "but who comes first is anybody's guess", {size = 22})
text(700, 150, "(a + b) + c ≠ a + (b + c)", {size = 26, bold = true, color = "red"})
text(700, 190, "two calls differ in the last bits of dQ;", {size = 22})
text(700, 220, "dK and dV do not: each has one owner", {size = 22})
