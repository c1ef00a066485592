-- Multi-head, grouped-query, multi-query.
size(1150, 222)
local function heads(x, title, H_k)
    text(x, 30, title, {bold = true, size = 22})
    for h = 0, 5 do box(x + h * 56, 45, 48, 48, {fill = "sky", text = h}) end
    local group = 6 / H_k
    for g = 0, H_k - 1 do
        local w = group * 56 - 8
        box(x + g * group * 56 + w / 2 - 24, 138, 48, 48, {fill = "orange", text = g})
        for h = 0, group - 1 do line(x + (g * group + h) * 56 + 24, 95, x + g * group * 56 + w / 2, 136) end
    end
end
heads(60, "multi-head: 6 / 6", 6)
heads(440, "grouped: 6 / 2", 2)
heads(820, "multi-query: 6 / 1", 1)
text(48, 76, "Q", {at = "end", bold = true})
text(48, 169, "K,V", {at = "end", bold = true})
text(60, 215, "query head h uses key head h / group, rounded down")
