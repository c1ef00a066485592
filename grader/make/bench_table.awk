# bench_table.awk: a recorded bench (plots/data/GPU/LESSON.csv) as a Markdown table, with the machine
# and the ceilings of the day below it.
BEGIN { FS = "," }
NR == 1 { next }
{
    flops = $8 > 0 || flops
    row[++rows] = $0
}
END {
    print flops ? "| size | version | ms | TFLOP/s | of cuBLAS |" : "| size | version | ms | GB/s | of the copy rate |"
    print "|---|---|---|---|---|"
    for (i = 1; i <= rows; i++) {
        n = split(row[i], f, ",")
        size = f[1] == last ? "" : f[1]
        last = f[1]
        if (f[9] != "verified") printf "| %s | %s | | %s | |\n", size, f[2], f[9]
        else if (flops) printf "| %s | %s | %.3f | %.1f | %.2f |\n", size, f[2], f[3], f[8], f[8] / f[11]
        else printf "| %s | %s | %.3f | %.0f | %.2f |\n", size, f[2], f[3], f[7], f[7] / f[10]
    }
    printf "\n%s, driver %s, CUDA %s, %s. ", f[12], f[13], f[14], f[15]
    if (flops) printf "cuBLAS: %.1f TFLOP/s.\n", f[11]
    else printf "Copy: %.0f GB/s, read and written.\n", f[10]
}
