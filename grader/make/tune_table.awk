# tune_table.awk: recorded choices of tiles (plots/data/GPU/LESSON.tiles.csv) as a table: a row for each
# choice, a column for each size, TFLOP/s; * marks the fastest of a column that spills no registers.
BEGIN { FS = "," }
NR == 1 { next }
{
    size = $1
    sub(/^.*; d = /, "d = ", size)
    sub(/; causal/, " causal", size)
    if (!(size in known)) { known[size] = 1; sizes[++columns] = size }
    if (!($2 in seen)) { seen[$2] = 1; choices[++rows] = $2 }
    cell[$2, size] = $9 == "verified" ? sprintf("%.1f", $8) : $9 == "spills registers" ? "spills" : "-"
    if ($9 == "verified" && $8 > best[size]) { best[size] = $8; winner[size] = $2 }
    where = $12 ", CUDA " $14 ", " $15 "; cuBLAS " $11 " TFLOP/s"
}
END {
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
