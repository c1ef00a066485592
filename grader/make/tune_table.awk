# tune_table.awk: recorded choices of tiles (plots/data/GPU/LESSON.tiles.csv) as a table: a row for
# each choice, a column for each size, TFLOP/s. * marks what tiles.h takes: the fastest of a column,
# but one that spills registers ("354.1 s84": 84 bytes of a thread) only if it is 2 % faster than
# all that do not. -v edit=1 prints instead the sed commands that write them into tiles.h, with
# -v limit=_99KB into the lines of that limit.
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
    bytes = match(outcome, /^verified; spills [0-9]+/) ? substr(outcome, 18, RLENGTH - 17) : 0
    cell[name, size] = outcome == "spills registers" ? "spills" : "-"  # not counted how many
    if (outcome ~ /^verified/) cell[name, size] = sprintf("%.1f", rate) (bytes ? " s" bytes : "")
    if (outcome ~ /^verified/ && rate > best[size, bytes > 0]) {
        best[size, bytes > 0] = rate
        fastest[size, bytes > 0] = name
        spilled[size] = bytes > 0 ? bytes : spilled[size]
    }
    where = $at["gpu"] ", CUDA " $at["cuda"] ", " $at["date"] "; cuBLAS " $at["cublas_tflops"] " TFLOP/s"
}
END {
    for (c = 1; c <= columns; c++) {
        size = sizes[c]
        spill = best[size, 1] > 1.02 * best[size, 0]
        if ((size, spill) in fastest) winner[size] = fastest[size, spill]
        if (!spill) spilled[size] = 0
    }
    if (edit) {
        for (size in winner) {
            macro = "TILES_" substr(size, 5)
            sub(/ causal/, "_CAUSAL", macro)
            macro = macro limit
            gsub("x", ", ", winner[size])
            stated = spilled[size] ? "  \\/\\/ spills " spilled[size] " bytes" : ""
            printf "s/^#define %s  *.*/#define %s %s%s/\n", macro, macro, winner[size], stated
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
