# ladder.gp: the bars that ladder.awk found. Columns: number, rate, style (0: no bar), name,
# text; of $heads, what stands above each size if there are two: number, text.
left = 34 + 8.3 * longest
right = 20
set lmargin at screen across(left)
set rmargin at screen across(width - right)
end = (mixed ? 1.3 : 1.18) * largest
if (ceiling < 1.5 * largest && end < 1.02 * ceiling) { end = 1.02 * ceiling }
set xrange [0:end]
set yrange [bars + 0.5:0.5]
set label 3 axis at graph 0.5, screen up(14) center
set ytics scale 0
if (ceiling < end) {
    set arrow from ceiling, graph 0 to ceiling, graph 1 nohead dashtype 2 linewidth 2 linecolor rgb DARK back
}

half = 0.33
drawn(style) = $3 == style ? $2 : NaN
letters(text) = (1 + strlen(text)) * 8.3 * end / (width - left - right)
# White behind the text hides the ceiling there.
plot \
    $bars using 2:1:2:($2 + letters(strcol(5))):($1 - half):($1 + half) with boxxyerror fillcolor rgb "#FFFFFF", \
    $bars using (0):1:(0):(drawn(1)):($1 - half):($1 + half):ytic(4) with boxxyerror fillcolor rgb LIGHT, \
    $bars using (0):1:(0):(drawn(2)):($1 - half):($1 + half) with boxxyerror fillcolor rgb BLUE, \
    $bars using (0):1:(0):(drawn(3)):($1 - half):($1 + half) with boxxyerror fillcolor rgb VERMILLION, \
    $bars using (0):1:(0):(drawn(4)):($1 - half):($1 + half) with boxxyerror fillcolor rgb GREEN fill pattern 4 border linecolor rgb DARK, \
    $bars using 2:1:5 with labels left offset 0.5, 0, \
    for [s = 2:(sizes > 1 ? sizes + 1 : 1)] $heads using (0):1:2 every ::s - 2::s - 2 with labels left offset 0.5, 0 font sprintf(",%g", 17 * pixel)
