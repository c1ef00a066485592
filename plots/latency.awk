# latency.awk: milliseconds of forward and backward pass at B = 1, d = 128, of lessons 14 and 16 and
# of others' kernels, as a Markdown table. The first file is the forward pass's.
#   awk -f plots/csv.awk -f plots/latency.awk plots/data/GPU/14_flash_tensor_core.csv plots/data/GPU/16_...
of("size") ~ /^B = 1; N = (4096|4321); d = 128(; causal)?$/ && of("kind") != "step" && of("kind") != "yours" {
    if (!(of("version") in known)) names[++versions] = of("version")
    known[of("version")] = 1
    cell[of("version"), files, of("size")] = of("outcome") == "verified" ? sprintf("%.3f", of("median_ms")) : of("outcome")
    recorded[files] = number(lesson)
}
END {
    if (failed) exit 1
    print "| ms | forward, N = 4096 | causal | N = 4321 | causal | backward, N = 4096 | causal | N = 4321 | causal |"
    print "|---|---|---|---|---|---|---|---|---|"
    for (v = 1; v <= versions; v++) {
        printf "| %s", (names[v] == "solution" ? "solutions of " recorded[1] " and " recorded[2] : names[v])
        for (f = 1; f <= 2; f++)
            for (N = 4096; N <= 4321; N += 225)
                for (causal = 0; causal < 2; causal++)
                    printf " | %s", cell[names[v], f, "B = 1; N = " N "; d = 128" (causal ? "; causal" : "")]
        print " |"
    }
    printf "\nB = 1, H = 32, d = 128, bf16. %s.\n", measured(1)
}
