-- A ring of three stages: who has a stage in which round, and the parity that each waits for.
size(1150, 330)
text(10, 36, "k tile")
text(10, 96, "producer: empty")
text(10, 120, "waits for parity", {size = 19})
text(10, 176, "stage, filled by TMA")
text(10, 236, "consumers: full")
text(10, 260, "wait for parity", {size = 19})
for k = 0, 6 do
    local x, round = 230 + k * 130, k // 3
    text(x + 55, 36, k, {at = "middle", bold = true})
    box(x, 70, 110, 56, {fill = "orange", text = 1 - round % 2, sub = round == 0 and "at once" or "round " .. round})
    box(x, 146, 110, 50, {fill = "grey", text = "stage " .. k % 3, bold = true})
    box(x, 214, 110, 56, {fill = "purple", text = round % 2, sub = "round " .. round})
    if k < 4 then path(string.format("M %d 272 C %d 310 %d 310 %d 130", x + 55, x + 150, x + 330, x + 445), {head = true, dash = true}) end
end
text(230, 322, "dashed: the consumers arrive at empty, and the stage is the producer's again, one time round later", {size = 19})
