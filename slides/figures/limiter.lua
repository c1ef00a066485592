-- Lesson 23: from the busiest unit, or from what warps wait for, to the question that finds a cure.
size(1150, 452)
box(10, 20, 250, 200, {fill = "sky", text = "yes, a unit is busy:", sub = "75 % and more: which?", bold = true})
box(10, 272, 250, 148, {fill = "orange", text = "no: warps wait.", sub = "Why too few to go on?", bold = true})
for n, row in ipairs({
    {"sky", "DRAM", "is every byte needed? Then it is done. Else: who reads twice?"},
    {"sky", "L2", "do blocks read the same bytes again?"},
    {"sky", "L1, shared memory", "more turns a request than it has to take? sectors, banks"},
    {"sky", "issue slots", "of all cycles that elapsed: are there needless instructions?"},
    {"orange", "idle multiprocessors", "the grid ends in a partly filled wave"},
    {"orange", "no room for warps", "registers or shared memory take it"},
    {"orange", "room and warps", "each warp has too little under way"}}) do
    local y = 20 + (n - 1) * 51 + (n > 4 and 48 or 0)
    arrow(264, y + 23, 316, y + 23)
    box(320, y, 240, 46, {fill = row[1], text = row[2], bold = true})
    text(578, y + 30, row[3])
end
