# losses.gp: loss curves, and below them their differences. Columns of $losses: step, loss of the
# course, of eager, of torch.compile, percent that the last two are above the first. limit: up to
# where their axis goes.
set multiplot
set lmargin at screen across(70)
set rmargin at screen across(width - 20)
set tmargin at screen up(height - 98)
set bmargin at screen up(230)
set label 3 "nats a token" at graph 0, screen up(height - 86)
set xtics format ""
set grid ytics linecolor rgb "#E5E5E5" linewidth 1
set label 5 "the course" at screen across(width - 330), up(height - 120) point pointtype 7 pointsize 0.8 linecolor rgb BLUE offset 1, 0
set label 6 "eager" at screen across(width - 220), up(height - 120) point pointtype 8 pointsize 0.8 linecolor rgb GREEN offset 1, 0
set label 7 "torch.compile" at screen across(width - 150), up(height - 120) point pointtype 6 pointsize 0.8 linecolor rgb VERMILLION offset 1, 0
plot $losses using 1:2 with linespoints pointinterval 20 pointtype 7 linewidth 2.5 linecolor rgb BLUE, \
    $losses using 1:3 with linespoints pointinterval 20 pointtype 8 linewidth 1.5 dashtype 2 linecolor rgb GREEN, \
    $losses using 1:4 with linespoints pointinterval 20 pointtype 6 linewidth 1.5 dashtype 3 linecolor rgb VERMILLION
unset label 1
unset label 2
unset label 5
unset label 6
unset label 7
set tmargin at screen up(190)
set bmargin at screen up(68)
set label 3 "percent above the course" at graph 0, screen up(204)
set label 4 "step" at graph 0.5, screen up(14) center
set xtics format "%g"
set yrange [-limit:limit]
set ytics -limit, limit / 2, limit
plot 0 with lines linewidth 2.5 linecolor rgb BLUE, \
    $losses using 1:5 with lines linewidth 1.5 dashtype 2 linecolor rgb GREEN, \
    $losses using 1:6 with lines linewidth 1.5 dashtype 3 linecolor rgb VERMILLION
unset multiplot
