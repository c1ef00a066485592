// checkpoint.h: a training as a file: what goes on from it ends with the same bits as one that was
// never interrupted.
#ifndef TRAIN_CHECKPOINT_H
#define TRAIN_CHECKPOINT_H

#include <stdint.h>

// What has to be the same for a training to go on, and where it stands.
struct run_state {
    char model[16];
    uint64_t seed, text;  // text: its hash
    int64_t parameters;
    int64_t steps;    // of the whole training: the learning rate follows from these two
    int64_t warm;     // until it is the largest
    int64_t step;     // done
    float* losses;    // steps + 1 of them: of step i at [i], from 1 on
    float* held_out;  // the same; NaN where nobody looked
    float *w, *mean, *square;
};

// Writes all of it to a file beside `path`, and then gives that its name: whoever is interrupted
// leaves the old file or the new one. Returns 0, or -1 and a message on stderr.
int checkpoint_write(const char* path, const struct run_state* s);

// Reads it into s, whose arrays have room and whose first lines say what is expected. Returns 1; 0
// if there is no file or it is of another training (nothing in s is changed, and *why says what
// differs, or is NULL without a file); -1 and a message on stderr if it cannot be read.
int checkpoint_read(const char* path, struct run_state* s, const char** why);

// A number that tells parameters apart, by all their bits.
uint64_t checkpoint_signature(const float* w, int64_t parameters);

#endif
