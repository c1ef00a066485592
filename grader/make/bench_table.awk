# bench_table.awk: a recorded bench (plots/data/GPU/LESSON.csv) as a Markdown table, with the
# machine and the ceilings of the day below it. -v sizes=4: the first four sizes and no more. A size
# of which memory is the bound, among sizes of products, says so in its rows. The last column is how
# many times as fast as the first version that is not the course's, if there is one.
BEGIN { FS = "," }
NR == 1 {
    for (c = 1; c <= NF; c++) at[$c] = c
    next
}
{
    flops = $at["tflops"] > 0 || flops
    row[++rows] = $0
    course = $at["kind"] ~ /^(step|solution|yours|tiles)$/
    if (!course && peer == "") peer = $at["version"]
    if ($at["version"] == peer) peer_ms[$at["size"]] = $at["median_ms"]
    if ($at["torch"] != "") torch = $at["torch"]
    mhz = $at["sm_mhz"]
    if (mhz && (!slowest || mhz < slowest)) slowest = mhz
    limit = $at["limited_by"]
    if (limit != "" && index(limits, limit) == 0) limits = limits (limits == "" ? "" : ", ") limit
}
END {
    printf "| size | version | ms | 10 %% .. 90 %% | %s | of %s |", flops ? "TFLOP/s" : "GB/s", flops ? "cuBLAS" : "the copy rate"
    print peer == "" ? "" : " times " peer " |"
    print "|---|---|---|---|---|---|" (peer == "" ? "" : "---|")
    for (i = 1; i <= rows; i++) {
        split(row[i], f, ",")
        size = f[at["size"]] == last ? "" : f[at["size"]]
        last = f[at["size"]]
        shown += size != ""
        if (sizes && shown > sizes) continue
        layout = f[at["layout"]]
        printf "| %s | %s%s", size, f[at["version"]], layout == "" ? "" : " (" layout ")"
        if (f[at["outcome"]] != "verified") {
            print " | | | " f[at["outcome"]] " | |" (peer == "" ? "" : " |")
            continue
        }
        printf " | %.3f | %.3f .. %.3f", f[at["median_ms"]], f[at["low_ms"]], f[at["high_ms"]]
        if (flops && f[at["tflops"]] > 0) printf " | %.1f | %.2f |", f[at["tflops"]], f[at["tflops"]] / f[at["cublas_tflops"]]
        else if (flops) printf " | %.0f GB/s | %.2f of the copy rate |", f[at["gbytes_per_s"]], f[at["gbytes_per_s"]] / f[at["copy_gbytes_per_s"]]
        else printf " | %.0f | %.2f |", f[at["gbytes_per_s"]], f[at["gbytes_per_s"]] / f[at["copy_gbytes_per_s"]]
        if (peer != "")
            printf "%s |", (peer_ms[last] > 0) ? sprintf(" %.2f", peer_ms[last] / f[at["median_ms"]]) : ""
        print ""
    }
    printf "\n%s, driver %s, CUDA %s, %s. ", f[at["gpu"]], f[at["driver"]], f[at["cuda"]], f[at["date"]]
    if (torch != "") printf "PyTorch %s. ", torch
    if (flops) printf "cuBLAS: %.1f TFLOP/s.", f[at["cublas_tflops"]]
    else printf "Copy: %.0f GB/s, read and written.", f[at["copy_gbytes_per_s"]]
    if (slowest) printf " Clock at least %d MHz%s.", slowest, limits == "" ? "" : ", limited by " limits
    print ""
    if (sizes && shown > sizes)
        printf "%d more size%s in `%s`.\n", shown - sizes, (shown - sizes > 1 ? "s are" : " is"), FILENAME
}
