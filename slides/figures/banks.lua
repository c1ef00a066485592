-- A column of a tile in shared memory, with and without one column more.
size(1150, 400)
local function tile(x, columns, pitch, title, words)
    text(x, 28, title, {bold = true, size = 22})
    cells(x, 44, columns, 6, 46, 46, function(c, r)
        local bank = (r * pitch + c) % 8
        return c == 1 and ({[0] = "red", "orange", "yellow", "green", "sky", "blue", "purple", "grey"})[bank] or c >= 8 and "grey" or "white", tostring(bank)
    end)
    for n, w in ipairs(words) do text(x, 350 + (n - 1) * 28, w) end
end
tile(40, 8, 8, "8 floats a row: number of the bank", {"a column is one bank: its lanes queue", ""})
tile(620, 9, 9, "9 floats a row", {"a column meets all banks: one turn"})
text(40, 392, "drawn with 8 banks; the hardware has 32, each 4 bytes wide")
