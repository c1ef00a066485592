-- The five products of a round of the Hopper backward: which operand comes from where.
size(1150, 500)
local places = {
  {fill = "blue", text = "shared memory, by TMA"},
  {fill = "green", text = "registers"},
  {fill = "orange", text = "shared memory, by the consumers"},
  {fill = "purple", text = "sums in global memory"},
}
for i, place in ipairs(places) do
  local x, y = 30 + (i - 1) % 2 * 560, 12 + math.floor((i - 1) / 2) * 44
  box(x, y, 46, 32, {fill = place.fill})
  text(x + 60, y + 23, place.text, {size = 20})
end
text(230, 128, "A", {bold = true})
text(480, 128, "B", {bold = true})
text(730, 128, "result", {bold = true})
local rows = {
  {"K", "blue", "Q\u{1d40}", "blue", "S\u{1d40}, then P\u{1d40}", "green", "its 64 keys"},
  {"V", "blue", "dO\u{1d40}", "blue", "dP\u{1d40}, then dS\u{1d40}", "green", "its 64 keys"},
  {"P\u{1d40}", "green", "dO", "blue", "dV", "green", "its 64 keys"},
  {"dS\u{1d40}", "green", "Q", "blue", "dK", "green", "its 64 keys"},
  {"dS", "orange", "K", "blue", "dQ", "purple", "all 128 keys"},
}
for i, r in ipairs(rows) do
  local y = 142 + (i - 1) * 71
  text(30, y + 36, tostring(i), {bold = true})
  box(90, y, 290, 54, {fill = r[2], text = r[1]})
  text(395, y + 36, "\u{d7}", {bold = true})
  box(425, y, 210, 54, {fill = r[4], text = r[3]})
  text(650, y + 36, "=", {bold = true})
  box(680, y, 240, 54, {fill = r[6], text = r[5]})
  text(940, y + 35, r[7], {size = 20})
end
