# roofline.awk: figures for roofline.gp: FLOPs a byte and TFLOP/s of every step, solution and
# library's routine that has FLOPs, at one size a lesson: the first of headlines.txt, or the first
# that its solution has a time for. A lesson whose sizes begin with a word and a semicolon
# ("forward; ...") has one for each word. Where memory is the bound, the solution's GB/s and its
# share of the copy rate.
#   awk -f plots/csv.awk -f plots/roofline.awk plots/data/GPU/LESSON.csv...
FNR == 2 { recorded[files] = lesson }
of("outcome") == "verified" && of("kind") ~ /^(step|solution|library)$/ {
    size = of("size")
    word = match(size, /^[a-z]+;/) ? " " substr(size, 1, RLENGTH - 1) : ""
    if (of("copy_gbytes_per_s") > copy) copy = of("copy_gbytes_per_s")
    if (of("kind") == "solution" && (!((files, word) in first) || is_headline(lesson, size) &&
        (!is_headline(lesson, first[files, word]) || is_headline(lesson, size) < is_headline(lesson, first[files, word])))) {
        first[files, word] = size
        text[files, word] = by_bytes() ? sprintf("%s: %.0f GB/s, %.0f %%", number(lesson) " " called(lesson) word, \
            of("gbytes_per_s"), 100 * of("gbytes_per_s") / of("copy_gbytes_per_s")) : ""
    }
    if (of("kind") == "solution" && !((files, word) in known)) {
        known[files, word] = 1
        words[++all] = files SUBSEP word
    }
    if (of("tflops") == 0) next
    rate[++rows] = of("tflops")
    kind[rows] = of("kind")
    where[rows] = files SUBSEP word
    at[rows] = size
    # Work and bytes are the same for all versions: the fastest has the most digits.
    if (of("gbytes_per_s") > bytes[files, size]) {
        bytes[files, size] = of("gbytes_per_s")
        intensity[files, size] = 1000 * of("tflops") / of("gbytes_per_s")
    }
    if (of("cublas_tflops") > bf16) bf16 = of("cublas_tflops")
    ceiling[files] = of("cublas_tflops")
}

function log10(x) { return log(x) / log(10) }

# power(x, UP): the power of ten below x, or above it
function power(x, up,    p) {
    for (p = 1; p > x; p /= 10) {}
    for (; p * 10 <= x; p *= 10) {}
    return up ? 10 * p : p
}

END {
    if (failed) exit 1
    print "$points << END"
    for (r = 1; r <= rows; r++) {
        split(where[r], part, SUBSEP)
        if (first[where[r]] != at[r] || text[where[r]] != "") continue
        x = intensity[part[1], at[r]]
        if (x < left || left == "") left = x
        if (x > right) right = x
        if (rate[r] + 0 < low || low == "") low = rate[r] + 0
        printf "%.4g\t%s\t%s\n", x, rate[r], kind[r]
        if (kind[r] != "solution") continue
        # In the order of their rates.
        for (k = ++names; k > 1 && from_y[k - 1] > rate[r]; k--) {
            from_x[k] = from_x[k - 1]
            from_y[k] = from_y[k - 1]
            name[k] = name[k - 1]
        }
        from_x[k] = x
        from_y[k] = rate[r]
        name[k] = number(recorded[part[1]]) " " called(recorded[part[1]]) part[2]
    }
    print "END"
    # A name and its line have one colour, neighbours have different ones.
    tints = split("29362 12603136 30810 9063046 3355443", tint, " ") # 0072B2 C04F00 00785A 8A4A86 333333
    # Heights are spread as logarithms; roofline.gp gives a decade of them as many pixels.
    low = power(low < 0.1 ? low : 0.1, 0)
    decades = log10(2.5 * bf16 / low)
    height = 540
    if (height < 170 + 18 * names) height = 170 + 18 * names
    decade = (height - 144) / decades
    for (k = 1; k <= names; k++) place[k] = log10(from_y[k])
    spread(place, names, 18 / decade, log10(low) + 9 / decade, log10(low) + decades - 4 / decade)
    print "$names << END"
    for (k = 1; k <= names; k++)
        printf "%.4g\t%s\t%.4g\t%s\t%s\n", from_x[k], from_y[k], 10 ^ place[k], name[k] ": " digits(from_y[k]), tint[k % tints + 1]
    print "END\n$memory << END"
    for (m = 1; m <= all; m++)
        if (text[words[m]] != "") printf "%d\t%s\n", ++memories, text[words[m]]
    print "END"
    for (f in ceiling)
        if (ceiling[f] < bf16 / 2 && ceiling[f] > fp32) fp32 = ceiling[f]
    printf "copy = %g; fp32 = %g; bf16 = %g; decade = %g; height = %d\n", copy, fp32, bf16, decade, height
    printf "y_low = %g; y_high = %g; x_low = %g; x_high = %g\n", low, 2.5 * bf16, power(left < 1 ? left : 1, 0), power(right, 1)
    set("title", "Roofline: TFLOP/s of every kernel against the FLOPs for a byte it has to move")
    set("subtitle", machine[1] ", " oldest (newest > oldest ? " to " newest : ""))
}
