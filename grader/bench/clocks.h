// clocks.h: how fast the GPU's clock runs while versions are timed, and what holds it back, from
// NVIDIA's management library (NVML). Where that is missing nothing is noted.
#ifndef GRADER_BENCH_CLOCKS_H
#define GRADER_BENCH_CLOCKS_H

// Forgets the noted clocks.
void clocks_begin(void);

// Notes the present clock; to be called while the GPU works.
void clocks_sample(void);

// The slowest clock of the multiprocessors since clocks_begin(), in MHz; 0: unknown.
unsigned clocks_slowest(void);

// Why the clock was lower than it might be: "power", "heat", "setting", or some joined by "+"; "":
// nothing did.
const char* clocks_limited_by(void);

#endif
