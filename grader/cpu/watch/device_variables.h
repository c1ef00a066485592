// __device__ and __constant__ variables of the program.
#ifndef CUDEV_DEVICE_VARIABLES_H
#define CUDEV_DEVICE_VARIABLES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct variable {
    char name[80];
    uintptr_t begin;  // address
    size_t bytes;
};

// The variable around the address; false if there is none.
bool cudev_variable_at(const void* address, struct variable* out);

#endif
