-- A sliding window, documents, and both as tiles.
size(1150, 370)
local function mask(x, title, sees, words)
    text(x, 28, title, {bold = true, size = 22})
    for tr = 0, 3 do
        for tc = 0, 3 do
            local some, all = false, true
            for r = 0, 2 do
                for c = 0, 2 do
                    local s = sees(tr * 3 + r, tc * 3 + c)
                    some, all = some or s, all and s
                end
            end
            cells(x + tc * 78, 45 + tr * 66, 3, 3, 24, 20, function(c, r)
                local s = sees(tr * 3 + r, tc * 3 + c)
                return s and (all and "blue" or "red") or some and "grey" or "white", ""
            end)
        end
    end
    text(x, 345, words)
end
mask(20, "causal", function(i, j) return j <= i end, "j ≤ i")
mask(410, "sliding window", function(i, j) return j <= i and i - j < 4 end, "0 ≤ i − j < window")
mask(800, "documents", function(i, j) return j <= i and (i < 5) == (j < 5) and (i < 9) == (j < 9) end, "doc(i) = doc(j)")
