-- Blocks filling multiprocessors in waves: three multiprocessors with room for two blocks each.
size(1150, 330)
local function grid(x, blocks, waves, name)
    text(x + 150, 28, name, {bold = true, size = 22})
    for m = 0, 2 do
        text(x + 138, 90 + m * 84, "SM " .. m, {at = "end"})
        for w = 0, waves - 1 do
            for place = 0, 1 do
                local b = w * 6 + place * 3 + m
                local there = b < blocks
                box(x + 150 + w * 128 + place * 58, 52 + m * 84, 52, 64,
                    {fill = there and (w % 2 == 0 and "sky" or "orange") or nil, text = there and tostring(b) or "", dash = not there})
            end
        end
    end
    for w = 0, waves - 1 do text(x + 205 + w * 128, 320, "wave " .. (w + 1), {at = "middle"}) end
end
grid(0, 12, 2, "12 blocks: two waves")
grid(520, 13, 3, "13 blocks: five places stay empty")
