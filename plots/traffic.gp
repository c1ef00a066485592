# traffic.gp: what traffic.awk has of lesson 12's naive step (index 0 of $counted) and of its
# solution (index 1). Columns: N, bytes that device memory moves at least, bytes that pass L2 at
# least.

# Q, K, V in, O and LSE out; the naive step writes and reads S and P (fp32) besides.
flash_device(N) = 8.0 * N * d + 4 * N
naive_device(N) = flash_device(N) + 16.0 * N * N
# A block reads what it needs once, and shares nothing with other blocks: 16 rows of Q and all of K
# and V; in the naive step 16 rows of Q and 16 of K for 256 scores, then S, then 16 rows of P and 16
# columns of V.
BLOCK = 16
flash_l2(N) = 2.0 * N * d + 4.0 * N * N / BLOCK * d + 2 * N * d + 4 * N
naive_l2(N) = 4.0 * N * N / BLOCK * d + 12.0 * N * N + (4.0 + 2) * N * N / BLOCK * d + 2 * N * d + 4 * N

set lmargin at screen across(76)
set rmargin at screen across(width - 20)
set logscale x 2
set logscale y
low = 64
high = 16384
room = 2.0 ** 3.4
set xrange [low / 1.1:high * room]
set xtics low, 2, high
set yrange [3e4:5e10]
set ytics ("100 KB" 1e5, "1 MB" 1e6, "10 MB" 1e7, "100 MB" 1e8, "1 GB" 1e9, "10 GB" 1e10)
set grid ytics linecolor rgb "#E5E5E5" linewidth 1
set label 4 "bytes" at graph 0, graph 1 offset 0.8, -0.6
set label 3 "N queries, N keys" at graph 0.35, screen up(14) center
do for [i = 1:4] {
    name = word("1_naive 1_naive solution solution", i)
    y = i == 1 ? naive_l2(high) : i == 2 ? naive_device(high) : i == 3 ? flash_l2(high) : flash_device(high)
    set label name.(i % 2 ? ", through L2" : ", device memory") at high * 1.15, y
}
set samples 200
only(N) = N >= low && N <= high ? N : NaN
plot \
    naive_l2(only(x)) linecolor rgb BLACK linewidth 2 dashtype 2, \
    naive_device(only(x)) linecolor rgb BLACK linewidth 2, \
    flash_l2(only(x)) linecolor rgb BLUE linewidth 2 dashtype 2, \
    flash_device(only(x)) linecolor rgb BLUE linewidth 3.5, \
    $counted index 0 using 1:3 with points pointtype 4 pointsize 1.2 linewidth 2 linecolor rgb BLACK, \
    $counted index 0 using 1:2 with points pointtype 5 pointsize 1.2 linecolor rgb BLACK, \
    $counted index 1 using 1:3 with points pointtype 6 pointsize 1.2 linewidth 2 linecolor rgb BLUE, \
    $counted index 1 using 1:2 with points pointtype 7 pointsize 1.2 linecolor rgb BLUE
