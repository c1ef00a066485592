# compare.awk: the table of counters: predictions, in their order, beside measurements. Reads
# PREDICTED (kernel,metric,value), the table as it stands, MEASURED (measured.awk). -v again=1:
# there are no new measurements; those of the table stay where nothing else is predicted.
FILENAME != before { file++; before = FILENAME }
file == 1 {
    predicted[$1, $2] = $3
    if (!($1 in first)) kernels[++count] = $1
    first[$1] = first[$1] $2 ","
    next
}
file == 2 && FNR > 1 && again {
    # a kernel of which any prediction differs is another kernel
    if ($3 != predicted[$1, $2] + 0) changed[$1] = 1
    machine[$1] = $7 "," $8 "," $9 "," $10
    apart[$1, $2] = $4
    whole[$1, $2] = $6
    if ($3 == 0) others[$1] = others[$1] $2 ","
    rows[$1]++
}
file == 3 {
    machine[$2] = $5 "," $6 "," $7 "," $8
    if ($1 == "apart") apart[$2, $3] = $4
    else whole[$2, $3] = $4
    if ($1 == "apart" && $4 && !(($2, $3) in predicted) && !listed[$2, $3]++ && $3 !~ /op_(atom|red)\.sum$|__bytes_read/)
        others[$2] = others[$2] $3 ","
}

# The measurement of a metric, or of the sum of two; "" if one is missing.
function of(table, kernel, metric, parts, n, i, sum) {
    if ((kernel, metric) in table) return table[kernel, metric]
    n = split(metric, parts, "+")
    for (i = 1; i <= n; i++) {
        if (!((kernel, parts[i]) in table)) return ""
        sum += table[kernel, parts[i]]
    }
    return sum
}

END {
    print "kernel,metric,predicted,measured,agrees,default_build,gpu,driver,cuda,date"
    for (k = 1; k <= count; k++) {
        kernel = kernels[k]
        known = !changed[kernel] && (kernel in machine)
        n = split(first[kernel] others[kernel], metric, ",")
        for (i = 1; i < n; i++) {
            want = predicted[kernel, metric[i]] + 0
            measured = known ? of(apart, kernel, metric[i]) : ""
            agrees = measured == "" ? "not measured" : measured == want ? "yes" : "no"
            print kernel "," metric[i] "," want "," measured "," agrees "," \
                (known ? of(whole, kernel, metric[i]) : "") "," (measured != "" ? machine[kernel] : ",,,")
        }
    }
}
