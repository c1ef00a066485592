// curve.h: the loss of a training, drawn in the terminal and written for gnuplot.
#ifndef TRAIN_CURVE_H
#define TRAIN_CURVE_H

#include "train/checkpoint.h"

// Rows of '.' (training, the mean of some steps) and 'o' (held out), and a line of '-' at the
// bigram entropy. bigram: nats.
void curve_print(const struct run_state* s, double bigram);

// step, loss, held-out loss, bigram: a line for each step, with an empty field where nobody looked.
// Returns 0, or -1 and a message on stderr.
int curve_write(const char* path, const struct run_state* s, double bigram);

#endif
