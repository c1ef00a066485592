-- A grade from end to end: the rooms it passes, and the wall between grader and kernel.
-- `sh grader/make/map.sh` draws map.svg of it, with the functions of slides/draw.lua.
size(1180, 560)
local function room(x, y, w, name, what, fill)
    box(x, y, w, 74, {fill = fill, text = name, sub = what, mono = true, size = 20})
end
text(40, 32, "trusted: the grader's process", {bold = true, size = 20})
text(790, 32, "behind the wall: not trusted", {bold = true, size = 20})
line(760, 16, 760, 545, {dash = true, wide = 4, color = "red"})

room(40, 60, 300, "make/", "make grade LESSON=12", "grey")
room(40, 190, 300, "NN_name/check.c", "items, cases, mistakes", "yellow")
room(400, 190, 300, "attention/ matmul/ rows/", "what lessons share", "yellow")
room(40, 320, 300, "check/", "data, points, causes", "blue")
room(400, 320, 300, "wall/", "compile, run, seal", "green")
room(40, 450, 300, "report/", "result, text, JSON", "sky")

room(820, 60, 320, "wall/compile.sh", "the .cu becomes two programs", "orange")
room(820, 190, 320, "cpu/rewrite/ cpu/include/", "a .cu that g++ takes", "purple")
room(820, 320, 320, "run/ NN_name/call.c", "arguments, one launcher call", "orange")
room(820, 450, 320, "cpu/device/ cpu/watch/", "threads; races, traffic", "purple")

arrow(190, 134, 190, 188)
arrow(190, 264, 190, 318)
arrow(190, 394, 190, 448)
arrow(400, 227, 342, 227)
arrow(340, 345, 398, 345)
arrow(398, 372, 342, 372)
arrow(702, 330, 818, 134)
arrow(980, 134, 980, 188)
arrow(700, 357, 818, 357, {wide = 4})
arrow(818, 380, 702, 380, {wide = 4})
text(550, 425, "the arena: arguments in, bytes out", {at = "middle"})
arrow(980, 394, 980, 448)
