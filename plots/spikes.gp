# spikes.gp: loss curves that jump. Columns of $losses: step, and the loss of the course and of
# eager, with SEED=1 and with SEED=2; of the course with a longer warm-up.
set lmargin at screen across(70)
set rmargin at screen across(width - 20)
set tmargin at screen up(height - 98)
set bmargin at screen up(68)
set label 3 "nats a token (jumps go up to 15)" at graph 0, screen up(height - 86)
set label 4 "step" at graph 0.5, screen up(14) center
set yrange [2.2:6.2]
set grid ytics linecolor rgb "#E5E5E5" linewidth 1
set key at screen across(width - 30), up(height - 104) right top vertical samplen 3 spacing 1.3
plot unigrams title "single characters' entropy" with lines linewidth 1 dashtype 3 linecolor rgb DARK, \
    $losses using 1:2 title "the course, SEED=1" with lines linewidth 2.5 linecolor rgb BLUE, \
    $losses using 1:3 title "eager, SEED=1" with lines linewidth 1.5 dashtype 2 linecolor rgb BLUE, \
    $losses using 1:4 title "the course, SEED=2" with lines linewidth 2.5 linecolor rgb VERMILLION, \
    $losses using 1:5 title "eager, SEED=2" with lines linewidth 1.5 dashtype 2 linecolor rgb VERMILLION, \
    $losses using 1:6 title "the course, WARM=100" with lines linewidth 2.5 linecolor rgb GREEN
