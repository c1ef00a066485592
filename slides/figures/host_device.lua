-- Two computers, five steps.
size(1150, 360)
box(10, 40, 430, 300, {dash = true})
text(225, 30, "host: your C program", {at = "middle", bold = true, size = 22})
box(710, 40, 430, 300, {dash = true})
text(925, 30, "device: the GPU", {at = "middle", bold = true, size = 22})
for n, name in ipairs({"a", "b", "c"}) do
    local y = 60 + (n - 1) * 92
    box(60, y, 220, 60, {fill = n == 3 and "purple" or "sky", text = name, mono = true, size = 24})
    box(890, y, 220, 60, {fill = n == 3 and "purple" or "sky", text = name .. "_gpu", mono = true, size = 24})
    if n < 3 then arrow(284, y + 30, 886, y + 30, {wide = 3}) else arrow(886, y + 30, 284, y + 30, {wide = 3}) end
    text(585, y + 20, n == 3 and "4  copy back" or n == 1 and "2  cudaMemcpy" or "", {at = "middle"})
end
text(722, 142, "1 cudaMalloc", {color = "red", bold = true})
text(722, 241, "3 kernel<<<>>>", {color = "red", bold = true})
text(722, 331, "5 cudaFree", {color = "red", bold = true})
