# roofline.gp: the roofs, and below them the points that roofline.awk found. Columns of $points:
# FLOP/byte, TFLOP/s, kind; of $names: the same two, the height of the name, the name, its colour;
# of $memory: number, text.
set lmargin at screen across(64)
set rmargin at screen across(width - 20)
set logscale xy
# Names stand inside the plot, behind the last tick.
set xrange [x_low:x_high * 50]
set yrange [y_low:y_high]
set format xy "%g"
set xtics x_low, 10, x_high
unset mxtics
unset mytics
set label 3 "FLOP/byte, inputs and outputs moved once" at graph 0.35, screen up(14) center
edge(flops) = 1000.0 * flops / copy
set arrow from x_low, copy / 1000 * x_low to edge(bf16), bf16 nohead linewidth 2 linecolor rgb DARK
set arrow from edge(bf16), bf16 to x_high, bf16 nohead linewidth 2 linecolor rgb DARK
set label sprintf("cuBLAS bf16, %.0f TFLOP/s", bf16) right at 4 * edge(bf16), bf16 offset 0, 0.7
if (fp32 > 0) {
    # Another width as well: of lines that differ in dashes alone, gnuplot's SVG dashes none.
    set arrow from edge(fp32), fp32 to x_high, fp32 nohead dashtype 2 linewidth 1.5 linecolor rgb DARK
    set label sprintf("cuBLAS fp32, %.0f TFLOP/s", fp32) at 1.6 * edge(fp32), fp32 offset 0, -0.7
}
across_decade = (width - 84) / log10(x_high * 50 / x_low)
set label sprintf("copy, %.0f GB/s", copy) at 2, copy / 1000 * 2 offset 0, 0.8 rotate by atan2(decade, across_decade) * 180 / pi
if (|$memory| > 0) {
    set label "memory is the bound; of the copy rate:" at 3, 5.5 textcolor rgb DARK
}
set label "solution" at screen across(width - 330), up(14) point pointtype 7 pointsize 1.1 linecolor rgb BLUE offset 1, -0.35
set label "step" at screen across(width - 215), up(14) point pointtype 2 linewidth 2 linecolor rgb DARK offset 1, -0.35
set label "cuBLAS" at screen across(width - 130), up(14) point pointtype 8 pointsize 1.3 linewidth 2 linecolor rgb GREEN offset 1, -0.35
set label "TFLOP/s" at graph 0, graph 1 offset 0.8, -0.4

plot \
    $names using 1:2:(x_high * 1.1 - $1):($3 - $2):5 with vectors nohead linecolor rgb variable linewidth 1.3, \
    $points using 1:(strcol(3) eq "step" ? $2 : NaN) with points pointtype 2 linewidth 2 linecolor rgb DARK, \
    $points using 1:(strcol(3) eq "library" ? $2 : NaN) with points pointtype 8 pointsize 1.3 linewidth 2 linecolor rgb GREEN, \
    $points using 1:(strcol(3) eq "solution" ? $2 : NaN) with points pointtype 7 pointsize 1.1 linecolor rgb BLUE, \
    $names using (x_high * 1.2):3:4:5 with labels left textcolor rgb variable, \
    $memory using (3):(5.5 * 10 ** (-$1 * 18.0 / decade)):2 with labels left textcolor rgb DARK
