-- Attention on the roofline of the recorded GPU: both axes logarithmic.
size(700, 430)
local peak = bench("14, B = 1; N = 4096; d = 128, solution, cublas_tflops")
local copy = bench("14, B = 1; N = 4096; d = 128, solution, copy_gbytes_per_s") / 1000
local function X(intensity) return 70 + math.log(intensity, 2) * 44 end
local function Y(tflops) return 380 - math.log(tflops, 2) * 34 end
local ridge = peak / copy
line(70, 20, 70, 380)
line(70, 380, 690, 380)
text(80, 32, "TFLOP/s")
text(690, 412, "FLOP per byte", {at = "end"})
line(X(1), Y(copy), X(ridge), Y(peak), {wide = 4, color = "blue"})
line(X(ridge), Y(peak), 690, Y(peak), {wide = 4, color = "blue"})
text(690, Y(peak) - 12, string.format("tensor cores: %.0f TFLOP/s", peak), {at = "end", color = "blue"})
text(X(5), Y(5 * copy) - 24, string.format("memory: %.2f TB/s", copy), {color = "blue", turn = -41})
line(X(ridge), Y(32 * copy) + 60, X(ridge), 380, {dash = true, color = "grey"})
text(X(ridge), 404, string.format("%.0f", ridge), {at = "middle"})
box(X(32) - 9, Y(32 * copy) - 9, 18, 18, {fill = "red"})
text(X(32) + 16, Y(32 * copy) + 18, "S and P in memory:")
text(X(32) + 16, Y(32 * copy) + 43, string.format("d / 4 = 32, at most %.0f", 32 * copy))
box(X(2048) - 9, Y(peak) - 9, 18, 18, {fill = "green"})
text(X(2048) + 60, Y(peak) + 36, "Q, K, V and O only:", {at = "end"})
text(X(2048) + 60, Y(peak) + 61, "N / 2 = 2048", {at = "end"})
