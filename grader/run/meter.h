// meter.h: what the launcher allocates, and calls that are made to fail.
//
// The program is linked with --wrap for the functions below, so the student's calls and ours come
// through meter.c on both devices. It counts between start and stop only.
#ifndef METER_H
#define METER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// From here on the fail_at-th call (from 1) of the function fails (fail_at 0: none). The function
// "launch" is a <<<>>>: cudaGetLastError() tells of it, and no kernel of the round runs. A "query"
// is what a launcher asks or sets before it launches: the device, one of its attributes, one of a
// kernel, how many blocks of it fit. Copies and fills are told to origin.h, whose round has begun.
void meter_start(const char* fail_call, int fail_at);

struct meter {
    int64_t allocated;  // bytes of device memory, at the peak, those that were refused included
    int64_t leaked;     // bytes allocated and not freed
    int64_t mapped;     // bytes asked for that the host reaches: pinned, managed, its own
    int64_t launches;   // kernels that were launched
    int64_t elsewhere;  // of them, in another stream than the default one
    int64_t waits;      // for the device, a stream or an event
    int64_t blocks;     // of all their grids; behind one that was made to fail: of those behind it
    int64_t largest_grid;    // the blocks of the largest of them
    int32_t grid_y, grid_z;  // the most blocks of a grid in y, in z
    bool failed;             // the call that was to fail was made
    bool asked_elsewhere;    // the launcher asked about another device than the current one
    int64_t to_device;       // bytes copied to the device
    int64_t to_host;         // bytes copied to the host, or allocated where both sides reach them
    // Bytes copied between two places of the device by which a result could come about: into an
    // output, with pitches, or in many pieces.
    int64_t on_device;
    int64_t own, sent, back;  // what it handed to the device, and what came back: handed.h
    int64_t copied, filled;   // bytes: all copies on the device, all fills
};

// Host code asked for so many bytes of its own memory.
void meter_note_host(size_t bytes);

// The launcher waits for all that it has launched.
void meter_note_wait(void);

// It asks whether that is done. The first time behind a launch the answer shall be no, whatever is
// true: then this returns true. A launcher that asks once more, or behind many launches, waits.
bool meter_note_query(void);

// The counts since meter_start().
struct meter meter_stop(void);

#endif
