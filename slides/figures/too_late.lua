-- Why the pooled scores cannot be summed in the first pass.
size(1150, 300)
text(380, 30, "a pool of 4 queries, keys from left to right", {bold = true, size = 22, at = "middle"})
for r, m in ipairs({7, 2, 9, 4}) do
    local y = 45 + (r - 1) * 52
    text(20, y + 32, "m = " .. m)
    cells(110, y, 8, 1, 66, 44, function(c) return c < 4 and "yellow" or "white", "" end)
    text(670, y + 32, "exp(S − " .. m .. ")")
    text(820, y + 32, "lacks exp(" .. m .. " − LSE)", {color = "red"})
end
line(374, 36, 374, 258, {wide = 4})
text(110, 285, "pool J = 0: one sum of all 16, before any LSE is known. No factor gets at its row again.", {bold = true})
