# losses.awk: figures for losses.gp: the loss of each step of the same training, by the course's
# kernels and by PyTorch, and how far PyTorch's are from the course's.
#   awk -f plots/csv.awk -f plots/losses.awk plots/data/GPU/29_train_gpt.losses.csv
function larger(x) { x = x < 0 ? -x : x; if (x > most) most = x }
{
    larger(100 * (of("eager") / of("ours") - 1))
    larger(100 * (of("torch.compile") / of("ours") - 1))
}
{ row[++steps] = of("step") "\t" of("ours") "\t" of("eager") "\t" of("torch.compile") "\t" \
      100 * (of("eager") / of("ours") - 1) "\t" 100 * (of("torch.compile") / of("ours") - 1) }
END {
    if (failed) exit 1
    if (steps < 2) exit 3 # nothing to draw
    print "$losses << END"
    for (i = 1; i <= steps; i++) print row[i]
    print "END"
    set("title", "The same training by the course and by PyTorch: loss of each step")
    set("subtitle", "make train MODEL=124m STEPS=" steps ": the same texts, the same parameters at the beginning")
    for (limit = 0.05; limit < most; limit *= 2) ;
    printf "height = 540; limit = %g\n", limit
}
