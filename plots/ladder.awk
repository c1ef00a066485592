# ladder.awk: figures for ladder.gp: a bar for every version of a lesson, at the first of the sizes
# that most versions have a time for. A second file is one's own record
# (build/bench/LESSON/yours.csv): its solution and yours are drawn in colour, below what is
# recorded.
{
    size = of("size")
    if (files == 1 && !rows[1, size]) sizes[++all] = size
    r = ++rows[files, size]
    kind[files, size, r] = of("kind")
    version[files, size, r] = of("version")
    outcome[files, size, r] = of("outcome")
    rate[files, size, r] = of("tflops") > 0 ? of("tflops") : of("gbytes_per_s")
    ceiling[files, size, r] = of("tflops") > 0 ? of("cublas_tflops") : of("copy_gbytes_per_s")
    if (of("tflops") > 0) flops = 1
    if (files == 1) recorded = lesson
    if (of("outcome") == "verified") {
        times[files, size]++
        if (of("kind") == "yours") mine[size] = 1
    }
}

# bar(FILE, SIZE, ROW, STYLE, NAME)
function bar(f, size, r, style, name,    text, share) {
    text = outcome[f, size, r]
    if (text == "verified") {
        share = 100 * rate[f, size, r] / ceiling[f, size, r]
        text = digits(rate[f, size, r]) sprintf(share < 10 ? " (%.1f %%)" : " (%.0f %%)", share)
        if (rate[f, size, r] > largest) largest = rate[f, size, r]
        top[f] = ceiling[f, size, r]
    } else style = 0
    if (length(name) > longest) longest = length(name)
    printf "%d\t%s\t%d\t%s\t%s\n", ++bars, style ? rate[f, size, r] : 0, style, name, text
}

END {
    if (failed) exit 1
    for (s = 1; s <= all; s++)
        if ((files == 1 || mine[sizes[s]]) && times[1, sizes[s]] > times[1, best]) best = sizes[s]
    if (best == "") {
        print FILENAME ": no size has a time" (files == 2 ? " of yours" : "") >"/dev/stderr"
        exit 3 # nothing to draw
    }
    print "$bars << END"
    for (r = 1; r <= rows[1, best]; r++) {
        k = kind[1, best, r]
        bar(1, best, r, files == 2 || k == "step" ? 1 : k == "solution" ? 2 : 4, version[1, best, r])
    }
    for (r = 1; files == 2 && r <= rows[2, best]; r++) {
        k = kind[2, best, r]
        if (k == "solution") bar(2, best, r, 2, "solution, here")
        if (k == "yours") bar(2, best, r, 3, "yours, here")
    }
    print "END"
    set("title", number(recorded) " " called(recorded) ", every version: " best)
    set("subtitle", files == 1 ? measured(1) : "grey: recorded on " gpu[1] ", " date[1] "; colour: here, " gpu[2] ", " date[2])
    set("axis", (flops ? "TFLOP/s; 100 % is cuBLAS: " : "GB/s; 100 % is a copy: ") digits(top[1]) (files == 2 ? ", here " digits(top[2]) : ""))
    printf "bars = %d; longest = %d; largest = %g; ceiling = %g\n", bars, longest, largest, top[1]
    printf "height = %d\n", bars < 9 ? 150 + 44 * bars : 540
}
