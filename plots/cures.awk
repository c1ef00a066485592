# cures.awk: figures for cures.gp: operations a byte and operations a second of lesson 23's kernels,
# as they are given and, with a second table, cured.
#   awk -f plots/csv.awk -f plots/cures.awk plots/data/GPU/23_profiling.counters.csv [plots/data/GPU/23_profiling.after.csv]
BEGIN { kernels = split("scores decay filter gaps forces norm", name, " ") }
of("counter") == "time (us)" { for (k = 1; k <= kernels; k++) us[files, k] = of(name[k]) }
of("counter") == "bytes that have to be moved (MB)" { for (k = 1; k <= kernels; k++) bytes[k] = of(name[k]) }
of("counter") == "operations of the task (million)" { for (k = 1; k <= kernels; k++) operations[k] = of(name[k]) }
of("counter") == "rate of a copy (GB/s)" && files == 1 { copy = of(name[1]) }
END {
    if (failed) exit 1
    cured = files > 1
    print "$points << END"
    for (k = 1; k <= kernels; k++) {
        if (!us[1, k] || !bytes[k]) {
            print FILENAME " has no time of " name[k] > "/dev/stderr"
            exit 1
        }
        # million operations in a microsecond are TFLOP/s
        printf "%.4g\t%.4g\t%s\t%s\n", operations[k] / bytes[k], operations[k] / us[1, k], \
            cured ? sprintf("%.4g", operations[k] / us[2, k]) : "NaN", \
            cured ? sprintf("%s: %.1f times", name[k], us[1, k] / us[2, k]) : name[k]
    }
    print "END"
    printf "copy = %g; cured = %d; height = 540\n", copy, cured
    set("title", "Six kernels below their roofs, as they are given" (cured ? " and cured" : ""))
    set("subtitle", measured(1))
}
