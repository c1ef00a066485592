-- Two computers, five steps.
size(1150, 400)
box(10, 40, 330, 350, {dash = true})
text(175, 30, "host: your C program", {at = "middle", bold = true, size = 22})
box(660, 40, 480, 350, {dash = true})
text(900, 30, "device: the GPU", {at = "middle", bold = true, size = 22})
local names = {"a", "b", "c"}
local function y(n) return 60 + (n - 1) * 92 end
local function fill(n) return n == 3 and "purple" or "sky" end
for n, name in ipairs(names) do box(60, y(n), 220, 60, {fill = fill(n), text = name, mono = true, size = 24}) end
step()
for n, name in ipairs(names) do box(890, y(n), 220, 60, {fill = fill(n), text = name .. "_gpu", mono = true, size = 24}) end
text(680, 365, "1  cudaMalloc", {color = "red", bold = true})
step()
for n = 1, 2 do arrow(284, y(n) + 30, 886, y(n) + 30, {wide = 3}) end
text(500, y(1) + 18, "2  cudaMemcpy", {at = "middle", color = "red", bold = true})
step()
path("M 1114 90 C 1136 90 1136 274 1114 274", {head = true, wide = 3, color = "red"})
path("M 1114 182 C 1130 182 1130 266 1114 270", {wide = 3, color = "red"})
text(775, 232, "3  kernel<<<...>>>", {at = "middle", color = "red", bold = true})
step()
arrow(886, y(3) + 30, 284, y(3) + 30, {wide = 3})
text(500, y(3) + 18, "4  cudaMemcpy back", {at = "middle", color = "red", bold = true})
step()
text(890, 365, "5  cudaFree", {color = "red", bold = true})
