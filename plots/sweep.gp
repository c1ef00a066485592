# sweep.gp: the curves that sweep.awk found, without a mask on the left, causal on the right.
# Columns of $curves: N, a rate for each of `names`; of $ends: N, rate, the height of the name, the
# name.
stats $curves using 1 name "N" nooutput
set tmargin at screen up(height - 98)
set logscale x 2
# Names stand inside the plot, behind the largest N.
room = (N_max / N_min) ** 0.62
set xrange [N_min / 1.08:N_max * room]
set xtics N_min, 2, N_max
set yrange [0:top]
set ytics 100
set grid ytics linecolor rgb "#E5E5E5" linewidth 1
tint(name) = grey && !is(name, "yours") ? LIGHT : colour[look(name)]

set multiplot
do for [causal = 0:1] {
    left = 70 + 450 * causal
    set lmargin at screen across(left)
    set rmargin at screen across(left + 430)
    set label 3 (causal ? "TFLOP/s, causal: FLOPs halved" : "TFLOP/s, no mask") at graph 0, screen up(height - 86)
    set label 4 sprintf("N, with B = %d / N", B_N) at graph 0.3, screen up(14) center
    set arrow 1 from N_min, ceiling to N_max, ceiling nohead dashtype 2 linecolor rgb DARK
    set label 6 sprintf("cuBLAS %.0f", ceiling) at N_max * room ** 0.14, ceiling
    plot for [v = 1:versions] $curves index causal using 1:v + 1 with linespoints linecolor rgb tint(names[v]) dashtype dashes[look(names[v])] \
        linewidth thick[look(names[v])] pointtype shape[look(names[v])] pointsize 1, \
        $ends index causal using 1:2:(N_max * room ** 0.12 - $1):($3 - $2) with vectors nohead linecolor rgb "#888888" linewidth 1, \
        $ends index causal using (N_max * room ** 0.14):3:4 with labels left
    unset label
    set ytics format ""
}
unset multiplot
