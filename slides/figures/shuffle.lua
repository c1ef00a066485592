-- Three rounds of __shfl_xor_sync over 8 lanes.
size(1150, 386)
local v = {[0] = 3, 1, 4, 1, 5, 9, 2, 6}
text(10, 32, "lane")
for n = 0, 7 do text(235 + n * 115, 32, n, {at = "middle", bold = true}) end
local y = 50
local function row(words, fill)
    text(10, y + 32, words)
    for n = 0, 7 do box(185 + n * 115, y, 100, 50, {fill = fill, text = v[n], size = 22}) end
end
local function xor(a, d) return (a // d) % 2 == 0 and a + d or a - d end
row("holds", "sky")
for _, d in ipairs({4, 2, 1}) do
    local new = {}
    step()
    for n = 0, 7 do
        new[n] = v[n] + v[xor(n, d)]
        if n < xor(n, d) then
            line(235 + n * 115, y + 52, 235 + xor(n, d) * 115, y + 92, {color = "red"})
            line(235 + xor(n, d) * 115, y + 52, 235 + n * 115, y + 92, {color = "red"})
        end
        line(235 + n * 115, y + 52, 235 + n * 115, y + 92)
    end
    v, y = new, y + 94
    row("distance " .. d, d == 1 and "purple" or "yellow")
end
