-- A tile at every level of the machine.
size(1150, 330)
local x = 10
for n, l in ipairs({
    {"grid", "all of C", "L2, HBM", 200, "white"}, {"block", "128 × 256", "shared memory", 170, "sky"},
    {"warp", "64 × 64", "registers", 130, "orange"}, {"mma", "16 × 8 × 16", "one instruction", 112, "purple"}}) do
    local size = l[4]
    box(x + (240 - size) / 2, 20 + (200 - size) / 2, size, size, {fill = l[5], text = l[2], bold = true, size = n == 4 and 18 or 20})
    text(x + 120, 255, l[1], {at = "middle", bold = true, size = 22})
    text(x + 120, 285, l[3], {at = "middle"})
    if n < 4 then arrow(x + 238, 120, x + 292, 120, {wide = 4}) end
    x = x + 296
end
