-- Blocks sweep over the keys, each at its own pace.
size(1150, 400)
local at = {2, 1, 0}
for j = 0, 3 do
    box(260 + j * 160, 15, 150, 46, {fill = "orange", text = "K, V tile " .. j})
end
for i = 0, 2 do
    local y = 82 + i * 100
    box(90, y, 140, 80, {fill = "sky", text = "Q tile " .. i, bold = true})
    for j = 0, 3 do
        local now, done = j == at[i + 1], j < at[i + 1]
        box(260 + j * 160, y, 150, 80, {fill = now and "yellow" or done and "grey" or "white", text = now and "now" or done and "done" or "", bold = now, dash = not now and not done})
    end
    arrow(905, y + 40, 940, y + 40)
    box(945, y, 150, 80, {fill = "purple", text = "m, l, O", sub = "block " .. i})
end
text(260 + 320, 393, "keys: one tile of S after the other, made, used, forgotten", {at = "middle"})
