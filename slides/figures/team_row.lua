-- Lesson 09: a row of 9 columns on a team of 4 threads, kept in registers through all three walks.
size(1150, 372)
text(10, 46, "the row")
cells(130, 18, 9, 1, 84, 46, function(c) return c % 2 == 0 and "sky" or "blue", "x[" .. c .. "]" end, {mono = true})
text(905, 36, "read once: thread t takes")
text(905, 62, "t, t + 4, t + 8")
for t = 0, 3 do
    local y = 100 + t * 54
    text(10, y + 30, "thread " .. t)
    cells(130, y, 3, 1, 84, 44, function(c)
        local j = t + 4 * c
        return j > 8 and "grey" or j % 2 == 0 and "sky" or "blue", j > 8 and "-inf" or "x[" .. j .. "]"
    end, {mono = true})
    arrow(386, y + 22, 436, y + 22)
    box(486, y, 150, 44, {fill = "yellow", text = "exp(x − m)"})
    arrow(640, y + 22, 690, y + 22)
    box(740, y, 130, 44, {fill = "purple", text = "times 1 / l"})
    arrow(874, y + 22, 905, y + 22)
    text(912, y + 29, t == 0 and "y[0] y[4] y[8]" or ("y[%d] y[%d]"):format(t, t + 4), {mono = true})
end
for _, x in ipairs({448, 702}) do box(x, 96, 26, 212, {fill = "orange"}) end
text(461, 336, "m: the largest of all", {at = "middle"})
text(715, 336, "l: the sum of all", {at = "middle"})
text(130, 364, "registers: filled once, used by all three walks", {bold = true})
