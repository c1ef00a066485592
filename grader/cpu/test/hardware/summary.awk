# summary.awk: counters.csv and findings.csv in short.
FNR == 1 { file++; next }
file == 1 {
    if (!($2 in rows)) metric[++metrics] = $2
    rows[$2]++
    if (!($1 in kernel)) kernels++
    kernel[$1] = 1
    if ($5 == "not measured") next
    measured++
    where = $7 ", driver " $8 ", CUDA " $9 ", " $10
    yes[$2] += $5 == "yes"
    no[$2] += $5 == "no"
    merged[$2] += $6 != "" && $6 == $3
    if ($5 == "no" && $2 !~ /^(lts|dram)__/) odd[++odds] = sprintf("  %-38s %-58s %9d %9d", $1, $2, $3, $4)
}
file == 2 {
    if (!($2 in bugs)) kind[++kinds] = $2
    bugs[$2]++
    ours[$2] += $3 == "yes"
    for (i = 4; i <= 7; i++) {
        found[$2, i] += $i == "finds"
        warned[$2, i] += $i == "warns"
        tried[i] += $i != ""
        tried_any += $i != ""
    }
}
END {
    printf "counters.csv: %d counters of %d launches, ", rows_of_all(), kernels
    if (measured) printf "%d measured: %s\n\n", measured, where
    else print "none measured yet\n"
    printf "  %-62s %9s %6s %9s %13s\n", "metric", "predicted", "agree", "disagree", "default build"
    for (i = 1; i <= metrics; i++) {
        m = metric[i]
        name = m
        sub(/\+.*/, " + red", name)
        printf "  %-62s %9d %6s %9s %13s\n", name, rows[m], told(yes[m], m), told(no[m], m), told(merged[m], m)
    }
    if (odds) print "\n  disagreements outside L2 and DRAM: kernel, metric, predicted, measured"
    for (i = 1; i <= odds; i++) print odd[i]

    printf "\nfindings.csv: mistakes by kind, and how many of them are found%s\n\n", \
        tried_any ? " (+ only a warning)" : "; compute-sanitizer has not been tried yet"
    printf "  %-26s %8s %8s %9s %10s %10s %10s\n", "kind", "mistakes", "ours", "memcheck", "racecheck", "initcheck", "synccheck"
    for (i = 1; i <= kinds; i++) {
        k = kind[i]
        printf "  %-26s %8d %8d %9s %10s %10s %10s\n", k, bugs[k], ours[k], tool(k, 4), tool(k, 5), tool(k, 6), tool(k, 7)
    }
}
function rows_of_all(i, sum) {
    for (i = 1; i <= metrics; i++) sum += rows[metric[i]]
    return sum
}
function told(n, m) {
    return yes[m] + no[m] ? n : "-"
}
function tool(k, i) {
    if (!tried[i]) return "-"
    return found[k, i] (warned[k, i] ? " +" warned[k, i] : "")
}
