# tokens.gp: the bars that tokens.awk found, drawn as those of a ladder.
load "plots/ladder.gp"
