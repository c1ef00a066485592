# curve.gp: the loss curve of `make train`. gnuplot -e "data='x.csv'; out='x.svg'; model='tiny'"
# curve.gp
set datafile separator ","
set terminal svg size 960,540 font "Liberation Sans,18" background "white"
set output out
set title "make train MODEL=" . model
set xlabel "step"
set ylabel "loss, nats a character"
set key top right
set grid
plot data using 1:2 skip 1 with lines lw 1 lc rgb "#999999" title "training", \
     data using 1:3 skip 1 with linespoints lw 3 pt 7 lc rgb "#0072b2" title "held out", \
     data using 1:4 skip 1 with lines lw 2 dt 2 lc rgb "#d55e00" title "bigram entropy"
