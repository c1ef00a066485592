# ladder.awk: figures for ladder.gp: a bar for every version of a lesson, at the sizes that
# headlines.txt has, or at the first of those that most versions have a time for. A size that
# memory bounds is told in GB/s, the others in TFLOP/s; with both in one ladder the bars are
# shares of their ceilings.
# own=1: where the libraries' bars leave a lesson's own no room, its own ones alone.
# A second file is one's own record (build/bench/LESSON/yours.csv): its solution and yours
# are drawn in colour, below what is recorded.
{
    size = of("size")
    if (files == 1 && !rows[1, size]) sizes[++all] = size
    r = ++rows[files, size]
    kind[files, size, r] = of("kind")
    version[files, size, r] = of("version")
    outcome[files, size, r] = of("outcome")
    if (files == 1 && of("outcome") == "verified" && of("tflops") > most[size]) most[size] = of("tflops")
    if (files == 1 && of("kind") == "solution") reached[size] = of("tflops")
    flops[files, size, r] = of("tflops")
    bytes[files, size, r] = of("gbytes_per_s")
    cublas[files, size, r] = of("cublas_tflops")
    copy[files, size, r] = of("copy_gbytes_per_s")
    if (files == 1) recorded = lesson
    if (of("outcome") == "verified") {
        times[files, size]++
        # The solution says which of the two is the nearer: others may waste either.
        if (files == 1 && of("kind") == "solution") memory[size] = by_bytes()
        if (of("kind") == "yours") mine[size] = 1
    }
}

# bar(FILE, SIZE, ROW, STYLE, NAME)
function bar(f, size, r, style, name,    text, share, rate, long) {
    text = outcome[f, size, r]
    if (text == "verified") {
        rate = memory[size] ? bytes[f, size, r] : flops[f, size, r]
        top[f] = memory[size] ? copy[f, size, r] : cublas[f, size, r]
        share = 100 * rate / top[f]
        text = digits(rate) (mixed ? (memory[size] ? " GB/s" : " TFLOP/s") : "") sprintf(share < 10 ? " (%.1f %%)" : " (%.0f %%)", share)
        long = mixed ? share : rate
        if (long > largest) largest = long
    } else style = 0
    if (length(name) > longest) longest = length(name)
    printf "%d\t%s\t%d\t%s\t%s\n", ++bars, style ? long : 0, style, name, text
}

# all_of(SIZE): its bars
function all_of(size,    r, k) {
    for (r = 1; r <= rows[1, size]; r++) {
        k = kind[1, size, r]
        if (own && k != "step" && k != "solution") continue
        bar(1, size, r, files == 2 || k == "step" ? 1 : k == "solution" ? 2 : 4, version[1, size, r])
    }
    for (r = 1; files == 2 && r <= rows[2, size]; r++) {
        k = kind[2, size, r]
        if (k == "solution") bar(2, size, r, 2, "solution, here")
        if (k == "yours") bar(2, size, r, 3, "yours, here")
    }
}

END {
    if (failed) exit 1
    for (s = 1; s <= all; s++) {
        if (files == 2 && !mine[sizes[s]]) continue
        if (times[1, sizes[s]] > times[1, best]) best = sizes[s]
        if (times[1, sizes[s]] && is_headline(recorded, sizes[s])) drawn[++n] = sizes[s]
    }
    if (best == "") {
        print FILENAME ": no size has a time" (files == 2 ? " of yours" : "") >"/dev/stderr"
        exit 3 # nothing to draw
    }
    if (!n) drawn[++n] = best
    if (own && (memory[drawn[1]] || reached[drawn[1]] > 0.1 * most[drawn[1]])) exit 3 # they have room
    for (s = 2; s <= n; s++) mixed = mixed || memory[drawn[s]] != memory[drawn[1]]
    print "$bars << END"
    for (s = 1; s <= n; s++) {
        if (n > 1) head[s] = ++bars
        all_of(drawn[s])
        names = names (s > 1 ? " and " : "") drawn[s]
    }
    print "END\n$heads << END"
    for (s = 1; s <= n; s++) printf "%d\t%s\n", head[s], drawn[s]
    print "END"
    versions = own ? "the lesson's own versions" : "every version"
    set("title", number(recorded) " " called(recorded) ", " versions ": " names)
    if (n > 1) set("heading", number(recorded) " " called(recorded) ", " versions)
    set("subtitle", files == 1 ? measured(1) : "grey: recorded on " gpu[1] ", " date[1] "; colour: here, " gpu[2] ", " date[2])
    if (mixed) set("axis", "percent of cuBLAS (TFLOP/s) or of a copy (GB/s)")
    else set("axis", (memory[drawn[1]] ? "GB/s; 100 % is a copy: " : "TFLOP/s; 100 % is cuBLAS: ") digits(top[1]) (files == 2 ? ", here " digits(top[2]) : ""))
    printf "sizes = %d; mixed = %d; bars = %d; longest = %d; largest = %g; ceiling = %g\n", n, mixed, bars, longest, largest, mixed ? 100 : top[1]
    printf "height = %d\n", bars < 9 ? 150 + 44 * bars : bars < 14 ? 540 : 150 + 28 * bars
}
