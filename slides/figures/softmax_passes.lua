-- Bytes for each element of a softmax.
size(1150, 248)
local unit = 40
local function bar(y, title, parts)
    text(10, y + 32, title)
    local x, sum = 380, 0
    for _, p in ipairs(parts) do
        box(x, y, p[1] * unit, 48, {fill = p[2], text = p[3]})
        x, sum = x + p[1] * unit, sum + p[1]
    end
    text(x + 12, y + 33, sum .. " bytes", {bold = true})
end
bar(15, "three passes: m; l; divide", {{4, "sky", "read"}, {4, "sky", "read"}, {4, "sky", "read"}, {4, "purple", "write"}})
bar(75, "online (m, l); divide", {{4, "sky", "read"}, {4, "sky", "read"}, {4, "purple", "write"}})
bar(135, "a row that fits into registers", {{4, "sky", "read"}, {4, "purple", "write"}})
bar(195, "only m and l (lesson 10)", {{4, "sky", "read"}})
