// Launches that may overlap with the launch before them, for the small programs.
#ifndef OVERLAP_SMALL_H
#define OVERLAP_SMALL_H

#include "hopper_small.h"

static cudaLaunchAttribute may_overlap;

// So many blocks of 128 threads, which may begin before the launch before has ended.
static inline cudaLaunchConfig_t overlapping(unsigned blocks) {
    cudaLaunchConfig_t config = {};
    may_overlap.id = cudaLaunchAttributeProgrammaticStreamSerialization;
    may_overlap.val.programmaticStreamSerializationAllowed = 1;
    config.gridDim = blocks, config.blockDim = 128;
    config.attrs = &may_overlap, config.numAttrs = 1;
    return config;
}

#endif
