-- Who holds what of mma.m16n8k16: lane 4g + t.
size(1150, 440)
local function block(x, y, w, columns, title, label, fill)
    text(x, y - 12, title, {bold = true})
    for half = 0, 1 do
        for r = 0, 3 do
            for c = 0, columns - 1 do
                local lane = r < 3 and (r % 4) * 4 + c % 4 or 28 + c % 4
                box(x + c * w + (c // 4) * 8, y + (half * 4 + r) * 40 + half * 10, w, 40, {fill = c // 4 == 0 and fill or "white", text = r == 2 and "…" or label .. lane, size = 18})
            end
        end
    end
end
text(10, 70, "row 0")
text(10, 110, "row 1")
text(10, 190, "row 7")
text(10, 240, "row 8")
text(10, 360, "row 15")
block(100, 45, 60, 8, "A, 16 × 16: a box is two numbers", "l", "sky")
text(110, 410, "a[0] above, a[1] below   |   a[2] above, a[3] below")
block(680, 45, 80, 4, "C, 16 × 8, as floats", "l", "purple")
text(680, 410, "c[0], c[1] above; c[2], c[3] below")
text(1020, 100, "B, 16 × 8:")
text(1020, 128, "the same by")
text(1020, 156, "columns")
