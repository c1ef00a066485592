-- Bytes through global memory for one head, N = 8192, d = 128, fp16: bars to scale (MiB).
size(1150, 300)
local N, d, MB = 8192, 128, 2 ^ 20
local qkv, s, o = 3 * N * d * 2 / MB, N * N * 2 / MB, N * d * 2 / MB
local unit = 1000 / (qkv + 3 * s + o)
local x = 20
local function bar(y, amount, fill, words)
    box(x, y, amount * unit, 70, {fill = fill, text = words})
    x = x + amount * unit
end
text(20, 40, "three kernels, S and P in memory", {bold = true})
bar(55, qkv, "sky")
bar(55, s, "yellow", string.format("write S: %.0f MB", s))
bar(55, s, "yellow", string.format("write P: %.0f MB", s))
bar(55, s, "yellow", string.format("read P: %.0f MB", s))
bar(55, o, "purple")
text(x + 14, 98, string.format("%.0f MB", qkv + 3 * s + o), {bold = true, size = 24})
x = 20
text(20, 190, "one kernel, S and P never leave the chip", {bold = true})
bar(205, qkv, "sky")
bar(205, o, "purple")
text(x + 14, 248, string.format("%.0f MB: Q, K and V in, O out", qkv + o), {bold = true, size = 24})
