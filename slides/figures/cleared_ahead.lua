-- Who clears the sums of dQ in lesson 26: the kernel before those of the first section, then blocks
-- of a section those of the next one.
size(1150, 315)
local function row(r, who, zeros, adds, wide)
    local y = 50 + r * 85
    text(10, y + 33, "sums of section " .. r, {bold = true})
    box(zeros, y, r == 0 and 160 or 210, 54, {fill = "grey", text = "zeros", sub = who, size = 19})
    arrow(zeros + (r == 0 and 162 or 212), y + 27, adds - 4, y + 27)
    box(adds, y, wide, 54, {fill = "orange", text = "blocks add", size = 19})
    if r > 0 then arrow(zeros - 8, y - 29, zeros + 20, y - 4) end
end
row(0, "the kernel before", 200, 405, 295)
row(1, "a warp of section 0", 425, 705, 295)
row(2, "a warp of section 1", 725, 1005, 135)
text(200, 30, "time goes to the right: who adds has waited for the zeros", {size = 19})
text(10, 304, "p.cleared", {size = 18, mono = true})
text(115, 304, "counts the blocks of the section before that have cleared their share", {size = 19})
