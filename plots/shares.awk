# shares.awk: figures for shares.gp: the time of each kind of kernel in a step of `make train`
# MODEL=124m, the longest first.
#   awk -f plots/csv.awk -f plots/shares.awk plots/data/GPU/29_train_gpt.kernels.csv
of("model") == "124m" {
    r = ++rows
    name[r] = of("kernels")
    ms[r] = of("ms")
    share[r] = of("share")
    all += ms[r]
    when = of("date")
    if (length(name[r]) > longest) longest = length(name[r])
    if (ms[r] > largest) largest = ms[r]
}
END {
    if (failed) exit 1
    if (!rows) exit 3 # nothing to draw
    print "$bars << END"
    for (i = 1; i <= rows; i++) {
        best = 0
        for (r = 1; r <= rows; r++)
            if (!drawn[r] && (!best || ms[r] > ms[best])) best = r
        drawn[best] = 1
        printf "%d\t%g\t2\t%s\t%.1f ms (%.0f %%)\n", i, ms[best], name[best], ms[best], 100 * share[best]
    }
    print "END\n$heads << END\n0\t\nEND"
    set("title", "make train MODEL=124m: where a step's time goes")
    set("subtitle", machine[1] ", " when)
    set("axis", sprintf("milliseconds of a step, one GPU; all kernels together %.1f", all))
    printf "sizes = 1; mixed = 1; bars = %d; longest = %d; largest = %g; ceiling = 1e30\n", rows, longest, largest
    printf "height = %d\n", 150 + 44 * rows
}
