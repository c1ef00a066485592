# spikes.awk: figures for spikes.gp: the first steps of a training whose warm-up is too short, with
# two seeds, by the course's kernels and by PyTorch's.
#   awk -f plots/csv.awk -f plots/spikes.awk plots/data/GPU/29_train_gpt.spikes.csv
of("step") <= 60 {
    row[++steps] = of("step") "\t" of("ours") "\t" of("eager") "\t" of("ours with SEED=2") "\t" of("eager with SEED=2")
}
END {
    if (failed) exit 1
    if (steps < 2) exit 3 # nothing to draw
    print "$losses << END"
    for (i = 1; i <= steps; i++) print row[i]
    print "END"
    set("title", "A warm-up of 10 steps: the loss jumps, whoever computes it")
    set("subtitle", "MODEL=124m, " measured(1))
    print "height = 420"
}
