-- Ten elements, blocks of four threads.
size(1150, 300)
for b = 0, 2 do
    local x = 130 + b * 330
    box(x, 20, 310, 50, {fill = "orange", text = "block " .. b, bold = true})
    cells(x, 80, 4, 1, 77.5, 50, function(c) return "white", tostring(c) end)
    cells(x, 160, 4, 1, 77.5, 60, function(c)
        local i = b * 4 + c
        return i < 10 and "sky" or "red", i < 10 and "i = " .. i or "no"
    end)
end
text(10, 112, "thread")
text(10, 197, "element")
text(130, 260, "i = blockIdx.x * blockDim.x + threadIdx.x", {mono = true})
text(790, 260, "n = 10: the last two have none", {color = "red", bold = true})
