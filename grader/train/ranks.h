// ranks.h: a training on several GPUs as several processes: one for each GPU, its rank, and one
// that watches them. With one GPU there is only the process that called.
#ifndef TRAIN_RANKS_H
#define TRAIN_RANKS_H

#include <semaphore.h>
#include <stdint.h>

enum { MOST_RANKS = 16, RANKS_ID_BYTES = 128 };

// Memory that all ranks see.
struct ranks_shared {
    sem_t turn[MOST_RANKS];
    unsigned char id[RANKS_ID_BYTES];  // rank 0's, by which the others find it
    int64_t step;                      // behind which the training goes on
    uint64_t signature[MOST_RANKS];    // of the parameters that a rank ended with
};

struct ranks {
    int rank, count;
    struct ranks_shared* shared;  // NULL if count is 1
};

// Makes `count` processes of this one, before any call of CUDA. Returns 0 in each of them, or -1
// and a message on stderr. The process that called does not return: it waits for them and ends with
// rank 0's exit status, or with 1 and a message if one of them failed. A rank ends with 0, or with
// 128 + signal if it was interrupted, else it has failed, and the others are killed: they would
// wait for it for ever. SIGINT and SIGTERM are passed on to all of them.
//
// What a rank but 0 writes to stdout is lost, and what it writes to stderr is shown only if it
// failed and rank 0 did not: the ranks do the same, and would say everything several times.
int ranks_begin(struct ranks* r, int count);

// Rank 0 lets the others through; they wait for it. What rank 0 has put into `shared` before, they
// can read behind it. Nothing with one GPU.
void ranks_turn(const struct ranks* r);

#endif
