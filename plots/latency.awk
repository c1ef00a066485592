# latency.awk: milliseconds of forward and backward pass at B = 1, d = 128, of two or more pairs of
# lessons and of others' kernels, as a Markdown table. The first file of a pair is the forward
# pass's. Of others' kernels that several records have, the first record counts.
#   awk -f plots/csv.awk -f plots/latency.awk plots/data/GPU/14_flash_tensor_core.csv plots/data/GPU/16_... \
#       plots/data/GPU/25_... plots/data/GPU/26_...
!("size" in column) { next }
of("size") ~ /^B = 1; N = (4096|4321); d = 128(; causal)?$/ && of("kind") != "step" && of("kind") != "yours" {
    pair = int((files + 1) / 2)
    name = of("version")
    if (name == "solution") name = "solution " pair
    if (!(name in first)) {
        names[++versions] = name
        first[name] = pair
    }
    if (first[name] == pair && of("outcome") != "not offered") {
        there[name] = 1
        cell[name, files % 2, of("size")] = of("outcome") == "verified" ? sprintf("%.3f", of("median_ms")) : of("outcome")
    }
    recorded[files] = number(lesson)
}
function row(name, words,    backward, N, causal) {
    printf "| %s", words
    for (backward = 0; backward < 2; backward++)
        for (N = 4096; N <= 4321; N += 225)
            for (causal = 0; causal < 2; causal++)
                printf " | %s", cell[name, 1 - backward, "B = 1; N = " N "; d = 128" (causal ? "; causal" : "")]
    print " |"
}
END {
    if (failed) exit 1
    print "| ms | forward, N = 4096 | causal | N = 4321 | causal | backward, N = 4096 | causal | N = 4321 | causal |"
    print "|---|---|---|---|---|---|---|---|---|"
    for (p = 1; 2 * p <= files; p++)
        row("solution " p, "solutions of " recorded[2 * p - 1] " and " recorded[2 * p])
    for (v = 1; v <= versions; v++) {
        if (names[v] ~ /^solution / || !there[names[v]]) continue
        row(names[v], names[v])
        if (first[names[v]] > 1) later = later (later ? ", " : "") names[v]
    }
    printf "\nB = 1, H = 32, d = 128, bf16. %s%s. Recorded with", machine[1], torch[1]
    for (f = 1; f <= files; f++)
        printf "%s %s on %s", (f == 1 ? "" : f == files ? " and" : ","), recorded[f], date[f]
    print later ? "; with the later ones also " later "." : "."
}
