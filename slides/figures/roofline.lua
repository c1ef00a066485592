-- Attention on the roofline of the recorded GPU: both axes logarithmic.
size(700, 440)
local peak = bench("14, B = 1; N = 4096; d = 128, solution, cublas_tflops")
local copy = bench("14, B = 1; N = 4096; d = 128, solution, copy_gbytes_per_s") / 1000
local function X(intensity) return 70 + math.log(intensity, 2) * 44 end
local function Y(tflops) return 380 - math.log(tflops, 2) * 34 end
local ridge = peak / copy
local big = 23
line(70, 20, 70, 380)
line(70, 380, 690, 380)
text(80, 32, "TFLOP/s", {size = big})
for _, tick in ipairs({10, 100}) do
    line(64, Y(tick), 70, Y(tick))
    text(60, Y(tick) + 8, tick, {at = "end", size = big})
end
text(690, 434, "FLOP per byte", {at = "end", size = big})
for _, tick in ipairs({1, 32, ridge, 2048}) do
    line(X(tick), 380, X(tick), 386)
    text(X(tick), 408, string.format("%.0f", tick), {at = "middle", size = big})
end
line(X(1), Y(copy), X(ridge), Y(peak), {wide = 4, color = "blue"})
line(X(ridge), Y(peak), 690, Y(peak), {wide = 4, color = "blue"})
text(690, Y(peak) - 16, string.format("tensor cores: %.0f TFLOP/s", peak), {at = "end", color = "blue", size = big})
text(X(3), Y(3 * copy) - 18, string.format("memory: %.2f TB/s", copy), {color = "blue", turn = -38, size = big})
line(X(ridge), Y(32 * copy) + 66, X(ridge), 380, {dash = true, color = "grey"})
box(X(32) - 9, Y(32 * copy) - 9, 18, 18, {fill = "red"})
text(X(32) + 16, Y(32 * copy) + 26, "S and P in memory, d = 128:", {size = big})
text(X(32) + 16, Y(32 * copy) + 54, string.format("d / 4 = 32, at most %.0f", 32 * copy), {size = big})
box(X(2048) - 9, Y(peak) - 9, 18, 18, {fill = "green"})
text(690, Y(peak) + 38, "Q, K, V, O, N = 4096:", {at = "end", size = big})
text(690, Y(peak) + 66, "N / 2 = 2048", {at = "end", size = big})
