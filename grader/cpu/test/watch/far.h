// Rows of 32 floats that lie 2^32 floats and more from each other.
#ifndef CUDEV_FAR_TEST_H
#define CUDEV_FAR_TEST_H

#include <cudev.h>
#include "small.h"

enum { ROWS = 3, COLS = 32, PITCH = 4096 };
static const long long FAR_STEP = ((long long)1 << 32) + PITCH / sizeof(float);

// Row r holds r, r + 1, r + 2, ...
static inline float* far_rows(void) {
    const size_t count[3] = {ROWS, 1, 1};
    char* room = (char*)empty((ROWS + 1) * PITCH / sizeof(float));
    char* near = room + (PITCH - (size_t)room % PITCH) % PITCH;
    cudev_name_allocation(near, ROWS * PITCH, "x");
    float* far = (float*)cudev_spread(near, count, COLS * sizeof(float), PITCH,
                                      sizeof(float) * ((size_t)1 << 32));
    float row[COLS];
    for (int r = 0; far && r < ROWS; r++) {
        for (int j = 0; j < COLS; j++) row[j] = (float)(r + j);
        cudaMemcpy(far + r * FAR_STEP, row, sizeof row, cudaMemcpyHostToDevice);
    }
    return far;
}

#endif
