-- Where 16 of k lie in a tile of shared memory: k runs fastest, or m (or n) does.
size(1150, 360)
local function tile(x, title, fill, words)
    text(x, 28, title, {bold = true})
    cells(x + 60, 44, 8, 8, 52, 32, fill)
    for i, w in ipairs(words) do text(x, 326 + (i - 1) * 24, w, {size = 19}) end
end
tile(10, "K_MAJOR: a row is 64 of k", function(c, r)
    local step = (c) // 2
    return step == 0 and "purple" or step == 1 and "orange" or "white", ""
end, {"16 of k: two pieces of each row; the next step is 32 bytes on"})
tile(600, "MN_MAJOR: a row is 64 of m", function(c, r)
    return r < 4 and "purple" or "orange", ""
end, {"16 of k: 16 rows (4 drawn); the next step is 2048 bytes on"})
text(10, 60, "m", {bold = true})
text(600, 60, "k", {bold = true})
