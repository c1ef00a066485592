# tokens.awk: figures for tokens.gp: tokens a second of `make train` MODEL=124m, for each number of
# GPUS=, and of PyTorch on one GPU; the course on one GPU is 100 %.
#   awk -f plots/csv.awk -f plots/tokens.awk plots/data/GPU/29_train_gpt.tokens.csv
of("model") == "124m" {
    r = ++rows
    ours[r] = of("version") == "the course"
    name[r] = of("version") (of("gpus") > 1 ? ", " of("gpus") " GPUs" : "")
    if (of("gpu") != gpu[1]) mixed_gpus = 1
    card[r] = of("gpu")
    rate[r] = of("tokens_per_s")
    ms[r] = of("median_ms")
    if (ours[r] && of("gpus") == 1) one = rate[r]
    texts = of("texts"); tokens = of("tokens")
    if (of("torch") != "") with = ", PyTorch " of("torch")
}
END {
    if (failed) exit 1
    if (!one) {
        print FILENAME ": no row of the course on one GPU with MODEL=124m" > "/dev/stderr"
        exit 3 # nothing to draw
    }
    print "$bars << END"
    for (r = 1; r <= rows; r++) {
        label = name[r] (mixed_gpus ? ", " card[r] : "")
        if (length(label) > longest) longest = length(label)
        if (rate[r] > largest) largest = rate[r]
        printf "%d\t%g\t%d\t%s\t%.0f (%.0f %%), %.1f ms\n", r, rate[r] / 1000, ours[r] ? 2 : 4, label, \
            rate[r] / 1000, 100 * rate[r] / one, ms[r]
    }
    print "END\n$heads << END\n0\t\nEND"
    set("title", "make train MODEL=124m: tokens a second")
    set("subtitle", machine[1] with ", " date[1])
    set("axis", "thousand tokens a second; a step is " texts " texts of " tokens " tokens, on however many GPUs")
    printf "sizes = 1; mixed = 1; bars = %d; longest = %d; largest = %g; ceiling = 1e30\n", rows, longest, largest / 1000
    printf "height = %d\n", 150 + 44 * rows
}
