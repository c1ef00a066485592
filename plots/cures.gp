# cures.gp: lesson 23's kernels below the roofs of memory and arithmetic. Columns of $points:
# operations a byte, TFLOP/s as given, TFLOP/s cured (NaN: not drawn), name.
PEAK = 67  # TFLOP/s, fp32, of an H200's data sheet
set lmargin at screen across(64)
set rmargin at screen across(width - 20)
set logscale xy
set xrange [0.06:6000]
set yrange [0.02:200]
set format xy "%g"
set xtics 0.1, 10
set ytics 0.1, 10
unset mxtics
unset mytics
set label 3 "operations for each byte that has to be moved" at graph 0.35, screen up(14) center
edge = 1000.0 * PEAK / copy
across_decade = (width - 84) / log10(6000 / 0.06)
up_decade = (height - 144) / log10(200 / 0.02)
set arrow from 0.06, copy / 1000 * 0.06 to edge, PEAK nohead linewidth 2 linecolor rgb DARK
set arrow from edge, PEAK to 6000, PEAK nohead linewidth 2 linecolor rgb DARK
set label sprintf("fp32, %d TFLOP/s", PEAK) at edge * 1.5, PEAK offset 0, 0.7
set label sprintf("copy, %.0f GB/s", copy) at 0.5, copy / 1000 * 0.5 offset 0, 0.8 rotate by atan2(up_decade, across_decade) * 180 / pi
set label "TFLOP/s" at graph 0, graph 1 offset 0.8, -0.4
set label "as given" at screen across(width - 330), up(14) point pointtype 6 pointsize 1.3 linewidth 2 linecolor rgb VERMILLION offset 1, -0.35
if (cured) {
    set label "cured" at screen across(width - 200), up(14) point pointtype 7 pointsize 1.3 linecolor rgb BLUE offset 1, -0.35
}

plot \
    $points using 1:2:(0):($3 - $2) with vectors nohead linecolor rgb LIGHT linewidth 2, \
    $points using 1:2 with points pointtype 6 pointsize 1.3 linewidth 2 linecolor rgb VERMILLION, \
    $points using 1:3 with points pointtype 7 pointsize 1.3 linecolor rgb BLUE, \
    $points using 1:2:4 with labels left offset 1.2, -0.6
