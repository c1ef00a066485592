// A program of the hardware proof says this after each launch: the launch's name, and on the CPU
// device what it predicts for it. On a GPU the counting is Nsight Compute's; the names put its
// numbers beside the predictions, in the order of the launches.
#ifndef CUDEV_LAUNCHED_H
#define CUDEV_LAUNCHED_H

#include <stdio.h>
#include <stdlib.h>
#ifdef __CUDEV__
#include "cudev.h"
#endif

// One kernel was launched since the last call; `name` has no comma. Ends the program if there was
// another number of launches, or the launch failed.
static inline void launched(const char* name) {
    cudaError_t error = cudaDeviceSynchronize();
    if (error != cudaSuccess) {
        fprintf(stderr, "%s: %s\n", name, cudaGetErrorString(error));
        exit(1);
    }
    printf("launch,%s\n", name);
#ifdef __CUDEV__
    struct cudev_traffic traffic;
    cudev_get_traffic(&traffic);
    if (traffic.launches != 1) {
        fprintf(stderr, "%s: %llu launches, expected 1 (CUDEV_WATCH=profile is needed)\n", name,
                traffic.launches);
        exit(1);
    }
    cudev_write_profile(stdout, "csv");
    cudev_reset_traffic();
#endif
    fflush(stdout);
}

#endif
