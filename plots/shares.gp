# shares.gp: the bars that shares.awk found, drawn as those of a ladder.
load "plots/ladder.gp"
