// The cost of one request of a warp.
#ifndef CUDEV_REQUEST_H
#define CUDEV_REQUEST_H

#include "cpu/watch/watch.h"

struct request {
    log_entry instruction;  // of one of the lanes
    unsigned lanes;         // that take part
    uint8_t lane[WARP_SIZE];
    uint32_t offset[WARP_SIZE];
};

// Adds the request to the counters.
void cudev_request(struct watch* watch, const struct request* q);

#endif
