// speed.h: how long the steps of a training take.
#ifndef TRAIN_SPEED_H
#define TRAIN_SPEED_H

#include <stdint.h>

#include "train/checkpoint.h"

struct speed {
    double *seconds, *sorted;  // of each step of this run; the same, for the median
    int64_t steps, room;
};

// Room for that many steps. Returns 0, or -1 and a message on stderr. speed_end() frees it.
int speed_begin(struct speed* speed, int64_t room);
void speed_end(struct speed* speed);

void speed_add(struct speed* speed, double seconds);

// Of a step, in seconds: the median of the last 1000, without the first one, which loads the
// kernels, unless it is alone. NaN without a step.
double speed_median(const struct speed* speed);

// A line for `make plots`: model, GPUS=, texts of a step and tokens of a text, milliseconds of a
// step (median, 10 % and 90 %), tokens a second, the losses in the end, and which machine.
// Environment: BENCH_DRIVER, the driver. Returns 0, or -1 and a message on stderr.
int speed_write(const char* path, const struct speed* speed, const struct run_state* s, int gpus,
                int texts, int N);

#endif
