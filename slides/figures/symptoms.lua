-- From what is seen, by what to look with, to what is wrong.
size(1150, 540)
box(1, 1, 1148, 538, {fill = "white"})
text(195, 34, "what you see", {at = "middle", bold = true, size = 22})
text(575, 34, "what to look with", {at = "middle", bold = true, size = 22})
text(955, 34, "what it is", {at = "middle", bold = true, size = 22})
for n, row in ipairs({
    {"red", "another answer", "in another run, or under a tool", "racecheck; the checked run", "name two lines that race", "a barrier is missing,", "or a wait is behind it"},
    {"orange", "wrong from a size on", "or an illegal address", "memcheck; rows far apart", "an address that is nobody's", "an index of 32 bits,", "or an edge not guarded"},
    {"yellow", "right once", "and not in the second call", "initcheck; poisoned memory", "a read before any write", "memory that nobody", "has made zero"},
    {"purple", "an error", "on another card", "the status; CARD=", "and what CUDA says to it", "a limit of one card"},
    {"sky", "wrong for some inputs", "and no tool finds anything", "inputs of your own:", "1, 31, 33; equal, none, huge", "a stride, a lane, a mask,", "a number to begin with"},
    {"green", "right", "and slow", "ptxas -v, ncu, make profile", "count, then guess", "local memory, sectors,", "banks, barriers"}}) do
    local y = 50 + (n - 1) * 81
    box(15, y, 360, 68, {fill = row[1], text = row[2], sub = row[3], bold = true})
    arrow(379, y + 34, 411, y + 34)
    box(415, y, 320, 68, {fill = "grey", text = row[4], sub = row[5]})
    arrow(739, y + 34, 771, y + 34)
    box(775, y, 360, 68, {fill = row[1], text = row[6], sub = row[7]})
end
