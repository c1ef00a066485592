-- The numbers of e4m3 between 0 and the largest weight: without a factor, and with 2^8.
size(1150, 380)
local left, octave, octaves = 80, 56, 18
local function at(power) return left + (octaves + power) * octave end

-- The numbers below 2^top, where the weight 1 is 2^top in e4m3.
local function grid(y, top, name)
    text(10, y - 62, name, {bold = true})
    local least = -6 - top
    box(at(least), y - 40, at(0) - at(least), 40, {fill = "sky"})
    box(at(least - 3), y - 40, 3 * octave, 40, {fill = "orange"})
    box(at(-octaves), y - 40, at(least - 3) - at(-octaves), 40, {fill = "red"})
    for power = least, -1 do
        for f = 0, 7 do
            local x = at(power + math.log(1 + f / 8) / math.log(2))
            line(x, y - 40, x, y, {color = "blue", wide = f == 0 and 3 or 1})
        end
    end
    for n = 1, 7 do
        local x = at(least + math.log(n / 8) / math.log(2))
        line(x, y - 40, x, y, {color = "red", wide = 2})
    end
    line(at(0), y - 40, at(0), y, {color = "blue", wide = 3})
end

grid(120, 0, "P, up to 1")
grid(260, 8, "P times 2^8, up to 256")
for power = -octaves, 0, 2 do
    text(at(power), 300, power == 0 and "1" or "2^" .. power, {at = "middle", size = 19})
end
text(at(-9), 336, "weight, of the largest of its row", {at = "middle"})
text(at(-13.6), 146, "0, or the smallest number", {at = "middle", size = 19})
text(at(-7.8), 146, "7 numbers", {at = "middle", size = 19})
text(at(-3), 146, "8 for each power of 2", {at = "middle", size = 19})
