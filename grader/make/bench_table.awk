# bench_table.awk: a recorded bench (plots/data/GPU/LESSON.csv) as a Markdown table, with the machine
# and the ceilings of the day below it. A comparison (LESSON.compare.csv) has the spread, and the ratio to
# PyTorch's operation instead of the one to the ceiling. -v sizes=4: the first four sizes and no more.
BEGIN { FS = "," }
NR == 1 {
    compared = NF > 15
    next
}
{
    flops = $8 > 0 || flops
    row[++rows] = $0
}
END {
    rate = flops ? "TFLOP/s" : "GB/s"
    if (compared) {
        printf "| size | version | layout | ms | 10 %% .. 90 %% | %s | of %s |\n", rate, $18
        print "|---|---|---|---|---|---|---|"
    } else {
        printf "| size | version | ms | %s | of %s |\n", rate, flops ? "cuBLAS" : "the copy rate"
        print "|---|---|---|---|---|"
    }
    for (i = 1; i <= rows; i++) {
        n = split(row[i], f, ",")
        size = f[1] == last ? "" : f[1]
        last = f[1]
        shown += size != ""
        if (sizes && shown > sizes) continue
        printf compared ? "| %s | %s | %s" : "| %s | %s", size, f[2], f[17]
        if (f[9] != "verified") printf compared ? " | | | %s | |\n" : " | | %s | |\n", f[9]
        else {
            printf compared ? " | %.3f | %.3f .. %.3f" : " | %.3f", f[3], f[4], f[5]
            printf flops ? " | %.1f" : " | %.0f", flops ? f[8] : f[7]
            printf " | %.2f |\n", compared ? f[19] : flops ? f[8] / f[11] : f[7] / f[10]
        }
    }
    printf "\n%s, driver %s, CUDA %s, %s. ", f[12], f[13], f[14], f[15]
    if (compared) printf "PyTorch %s. ", f[16]
    if (flops) printf "cuBLAS: %.1f TFLOP/s.\n", f[11]
    else printf "Copy: %.0f GB/s, read and written.\n", f[10]
    if (sizes && shown > sizes)
        printf "%d more size%s in `%s`.\n", shown - sizes, (shown - sizes > 1 ? "s are" : " is"), FILENAME
}
