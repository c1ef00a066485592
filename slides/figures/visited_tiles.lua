-- Lesson 18: five masks on 512 queries and keys, as tiles of 64: equation (1) decides.
size(1150, 372)
local N, T = 512, 64
local function mask(x, title, below, sees)
    text(x, 28, title, {bold = true})
    text(x, 56, below)
    cells(x, 75, N // T, N // T, 25, 25, function(c, r)
        local seen = 0
        for i = r * T, r * T + T - 1 do
            for k = c * T, c * T + T - 1 do
                if sees(i, k) then seen = seen + 1 end
            end
        end
        return seen == T * T and "green" or seen > 0 and "red" or "white", ""
    end)
end
local ends = {100, 330, 512}
local function document(i)
    for n, e in ipairs(ends) do
        if i < e then return n end
    end
end
local function window(i, k) return k <= i and i - k < 150 end
mask(10, "window 150", "causal", window)
mask(240, "window 150", "and 4 sinks", function(i, k) return window(i, k) or k < 4 and k <= i end)
mask(470, "window 100", "to both sides", function(i, k) return math.abs(i - k) <= 100 end)
mask(700, "3 documents", "causal", function(i, k) return k <= i and document(i) == document(k) end)
mask(930, "prefix 150", "causal behind it", function(i, k) return k <= i or k < 150 end)
for n, key in ipairs({{"green", "seen whole: no mask"}, {"red", "seen in part: masked"}, {"white", "seen by nobody: not visited"}}) do
    local x = 10 + (n - 1) * 340
    box(x, 310, 40, 40, {fill = key[1]})
    text(x + 52, 337, key[2])
end
