-- Causal masks are aligned at the bottom right corner.
size(1150, 340)
local function mask(x, rows, columns, title, remark)
    text(x, 30, title, {bold = true, size = 22})
    cells(x, 50, columns, rows, 44, 44, function(c, r)
        return c <= r + columns - rows and "yellow" or "grey", ""
    end)
    for n, words in ipairs(remark) do text(x, 50 + rows * 44 + 4 + n * 26, words) end
end
mask(30, 3, 6, "N_q = 3, N_k = 6", {"a cache of earlier keys:", "the last query sees all"})
mask(450, 4, 4, "N_q = N_k = 4", {"a whole sequence"})
mask(800, 5, 3, "N_q = 5, N_k = 3", {"the first two rows see", "nothing: O = 0, LSE = −∞"})
