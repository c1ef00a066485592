# sweep.awk: figures for sweep.gp: TFLOP/s against N of every version, without a mask and causal, of
# the sizes "B = 4; N = 4096; d = 128" or "...; causal" with one d and one B N: that which has the
# most sizes. A second file is one's own record (build/bench/LESSON/yours.csv): what is yours is
# drawn in colour, the rest in grey.
#   awk -v d=128 -f plots/csv.awk -f plots/sweep.awk plots/data/GPU/LESSON.csv
files == 1 { recorded = lesson }
of("size") ~ /^B = [0-9]+; N = [0-9]+; d = [0-9]+(; causal)?$/ {
    split(of("size"), part, /[^0-9]+/)
    if (part[4] != d) next
    N = part[3]
    BN = part[2] * N
    if (files == 1 && !((BN, of("size")) in seen)) {
        seen[BN, of("size")] = 1
        if (++sizes[BN] > sizes[most]) most = BN
    }
    if (of("outcome") != "verified" || files == 2 && of("kind") != "yours") next
    if (files == 2) mine[BN] = 1
    if (!(of("version") in known)) names[++versions] = of("version")
    known[of("version")] = 1
    speed[BN, of("version"), of("size") ~ /causal$/, N] = of("tflops")
    if (files == 1 && of("cublas_tflops") > ceiling) ceiling = of("cublas_tflops")
    if (of("tflops") > top) top = of("tflops")
    for (n = 1; n <= lengths && length_of[n] != N; n++) {}
    if (n > lengths) length_of[++lengths] = N
}

# curves(CAUSAL): a block of $curves: N, and a column for each version
function curves(causal,    n, v) {
    for (n = 1; n <= lengths; n++) {
        if (!((most, length_of[n]) in shown)) continue
        printf "%d", length_of[n]
        for (v = 1; v <= versions; v++)
            printf "\t%s", (most, names[v], causal, length_of[n]) in speed ? speed[most, names[v], causal, length_of[n]] : "NaN"
        printf "\n"
    }
    print "\n"
}

# ends(CAUSAL): a block of $ends: where each curve ends, where its name stands, the name
function ends(causal,    v, n, k, count, x, y, name, place) {
    for (v = 1; v <= versions; v++)
        for (n = lengths; n > 0; n--)
            if ((most, names[v], causal, length_of[n]) in speed) {
                # In the order of their heights.
                for (k = ++count; k > 1 && y[k - 1] > speed[most, names[v], causal, length_of[n]]; k--) {
                    x[k] = x[k - 1]
                    y[k] = y[k - 1]
                    name[k] = name[k - 1]
                }
                x[k] = length_of[n]
                y[k] = speed[most, names[v], causal, length_of[n]]
                name[k] = names[v]
                break
            }
    for (k = 1; k <= count; k++) place[k] = y[k]
    spread(place, count, 18 * top / 380, 0.03 * top, 0.98 * top)
    for (k = 1; k <= count; k++) printf "%d\t%s\t%.2f\t%s\n", x[k], y[k], place[k], name[k]
    print "\n"
}

END {
    if (failed) exit 1
    if (sizes[most] < 6 || files == 2 && !mine[most]) exit 3 # nothing to draw
    for (n = 2; n <= lengths; n++)
        for (k = n; k > 1 && length_of[k - 1] + 0 > length_of[k] + 0; k--) {
            N = length_of[k]
            length_of[k] = length_of[k - 1]
            length_of[k - 1] = N
        }
    for (key in speed) {
        split(key, part, SUBSEP)
        shown[part[1], part[4]] = 1
    }
    top = 1.04 * (ceiling > top ? ceiling : top)
    print "$curves << END"
    curves(0)
    curves(1)
    print "END\n$ends << END"
    ends(0)
    ends(1)
    print "END"
    printf "versions = %d; array names[versions] = [", versions
    for (v = 1; v <= versions; v++) printf "%s'%s'", (v > 1 ? ", " : ""), names[v]
    printf "]\ntop = %g; ceiling = %g; B_N = %d; grey = %d; height = 540\n", top, ceiling, most, files == 2
    set("title", number(recorded) " " called(recorded) ": TFLOP/s against N, d = " d)
    set("subtitle", files == 1 ? measured(1) : "grey: recorded on " gpu[1] ", " date[1] "; colour: here, " gpu[2] ", " date[2])
}
