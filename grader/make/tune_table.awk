# tune_table.awk: recorded choices of tiles (plots/data/GPU/LESSON.tiles.csv) as a table: a row for
# each choice, a column for each size, TFLOP/s; * marks the fastest of a column that spills no
# registers. -v edit=1 prints instead the sed commands that write the fastest into tiles.h.
BEGIN { FS = "," }
NR == 1 {
    for (c = 1; c <= NF; c++) at[$c] = c
    next
}
{
    size = $at["size"]
    sub(/^.*; d = /, "d = ", size)
    sub(/; causal/, " causal", size)
    name = $at["version"]
    rate = $at["tflops"]
    outcome = $at["outcome"]
    if (!(size in known)) { known[size] = 1; sizes[++columns] = size }
    if (!(name in seen)) { seen[name] = 1; choices[++rows] = name }
    cell[name, size] = outcome == "verified" ? sprintf("%.1f", rate) : outcome == "spills registers" ? "spills" : "-"
    if (outcome == "verified" && rate > best[size]) { best[size] = rate; winner[size] = name }
    where = $at["gpu"] ", CUDA " $at["cuda"] ", " $at["date"] "; cuBLAS " $at["cublas_tflops"] " TFLOP/s"
}
END {
    if (edit) {
        for (size in winner) {
            macro = "TILES_" substr(size, 5)
            sub(/ causal/, "_CAUSAL", macro)
            gsub("x", ", ", winner[size])
            printf "s/^#define %s  *.*/#define %s %s/\n", macro, macro, winner[size]
        }
        exit
    }
    printf "%-18s", "tiles"
    for (c = 1; c <= columns; c++) printf "  %15s", sizes[c]
    printf "\n"
    for (r = 1; r <= rows; r++) {
        name = choices[r]
        gsub("x", " ", name)
        printf "%-18s", name
        for (c = 1; c <= columns; c++)
            printf "  %14s%s", cell[choices[r], sizes[c]], winner[sizes[c]] == choices[r] ? "*" : " "
        printf "\n"
    }
    print "TFLOP/s; " where
}
