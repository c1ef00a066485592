-- P^T of 32 keys, shared by two warps (lesson 16, d = 128).
size(1150, 300)
text(10, 30, "a warp alone: 32 keys, dK and dV", {bold = true, size = 22})
box(10, 50, 240, 70, {fill = "orange", text = "dK: 32 × 128"})
box(10, 125, 240, 70, {fill = "green", text = "dV: 32 × 128"})
text(10, 230, "8192 floats / 32 lanes =")
text(10, 258, "256 registers: more than there are", {color = "red", bold = true})
text(480, 30, "two warps share the keys: half of the columns each", {bold = true, size = 22})
for n = 0, 1 do
    box(480 + n * 330, 50, 150, 60, {fill = "orange", text = "dK: 32 × 64"})
    box(480 + n * 330, 115, 150, 60, {fill = "green", text = "dV: 32 × 64"})
    text(555 + n * 330, 205, "warp " .. n, {at = "middle"})
    arrow(632 + n * 178, 113, 690 + n * 60, 113)
    arrow(690 + n * 60, 128, 632 + n * 178, 128)
end
box(694, 75, 52, 100, {fill = "yellow", text = "Pᵀ"})
text(480, 258, "Pᵀ and dSᵀ go through shared memory: one more barrier, a fifth fewer loads")
