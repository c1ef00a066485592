# spikes.awk: figures for spikes.gp: a training whose warm-up is too short, with two seeds, by the
# course's kernels and by PyTorch's; one with a longer warm-up; the entropy of single characters.
#   awk -f plots/csv.awk -f plots/spikes.awk plots/data/GPU/29_train_gpt.spikes.csv
{
    row[++steps] = of("step") "\t" of("ours") "\t" of("eager") "\t" of("ours with SEED=2") "\t" \
        of("eager with SEED=2") "\t" of("ours with WARM=100")
    unigrams = of("unigrams")
}
END {
    if (failed) exit 1
    if (steps < 2) exit 3 # nothing to draw
    print "$losses << END"
    for (i = 1; i <= steps; i++) print row[i]
    print "END"
    set("title", "WARM=10: the loss jumps and stays, whoever computes it")
    set("subtitle", "MODEL=124m STEPS=" steps ", " measured(1))
    printf "height = 480; unigrams = %g\n", unigrams
}
