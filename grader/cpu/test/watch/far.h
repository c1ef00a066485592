// Rows of 32 floats that lie 2^32 floats and more from each other.
#ifndef CUDEV_FAR_TEST_H
#define CUDEV_FAR_TEST_H

#include <cudev.h>
#include "small.h"

enum { ROWS = 3, COLS = 32, PITCH = 4096 };
static const long long FAR_STEP = ((long long)1 << 32) + PITCH / sizeof(float);

// Row r holds r, r + 1, r + 2, ...
static inline float* far_rows_of(const char* name, size_t rows) {
    const size_t count[3] = {rows, 1, 1};
    char* room = (char*)empty((int)((rows + 1) * PITCH / sizeof(float)));
    char* near = room + (PITCH - (size_t)room % PITCH) % PITCH;
    cudev_name_allocation(near, rows * PITCH, name);
    float* far = (float*)cudev_spread(near, count, COLS * sizeof(float), PITCH,
                                      sizeof(float) * ((size_t)1 << 32));
    float row[COLS];
    for (size_t r = 0; far && r < rows; r++) {
        for (int j = 0; j < COLS; j++) row[j] = (float)(r + j);
        cudaMemcpy(far + r * FAR_STEP, row, sizeof row, cudaMemcpyHostToDevice);
    }
    return far;
}

static inline float* far_rows(void) {
    return far_rows_of("x", ROWS);
}

#endif
