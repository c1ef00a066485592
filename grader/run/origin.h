// origin.h: what copies and host code alone have made of the outputs.
//
// A result has to come from a kernel. Beside each output the arena holds a second array, the part
// that no kernel has made (wall/arena.h); the grader compares it with what is wanted.
//
// For an output in device memory these are the bytes that copies from the host and fills have left
// there. For an output on the host it is every element that a copy from the device has not brought,
// or that a copy to the device had taken there before. All of it is observed in the one run there
// is: nothing differs from an ordinary run, so nothing can be noticed.
//
// The functions are called with the vault open (vault.h).
#ifndef ORIGIN_H
#define ORIGIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct arena_layout;

// A round begins. device: where the first byte of each tensor lies; NULL for one on the host.
void origin_start(const struct arena_layout* layout, unsigned char* arena, uint32_t round,
                  unsigned char* const* device);
void origin_stop(void);  // it ends: completes the second arrays

bool origin_is_output(const void* to, size_t bytes);  // do these bytes reach into an output?
bool origin_counts_words(void);                       // is there an output on the host?

void origin_written(const void* to, const void* from, size_t bytes);  // copied to the device
void origin_filled(const void* to, int byte, size_t bytes);
void origin_brought(const void* to, size_t bytes);  // copied to the host

// Memory that both sides reach: what lies there before a launch, and what lies there afterwards.
void origin_before_launch(const void* shared, size_t bytes);
void origin_after_launch(const void* shared, size_t bytes);

#endif
