// The one device: its properties, streams and events. Work is done when it is submitted.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "runtime.h"

cudaError_t cudaDeviceSynchronize(void) {
    return cudaSuccess;
}
