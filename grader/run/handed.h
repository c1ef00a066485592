// handed.h: what host code hands to the device beside the inputs.
//
// Host code that makes the results itself has to send them. All that could carry them is counted:
// arguments of kernels, copies from elsewhere than an input on the host, calls, memory that both
// sides reach. If that is much, the grader runs a case in which other numbers arrive than the host
// has (check_hand_over(), check.h): a sum that the host has made does not follow from them, in
// whatever form it was sent. Copies of the inputs do, also by way of memory of the launcher's.
//
// Host code that fetches from the device what arrived there could add that, and send the sums.
// Bytes that come back before the last kernel begins are counted, too, and all that is sent.
//
// The functions are called with the vault open (vault.h).
#ifndef HANDED_H
#define HANDED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct arena_layout;

// A round begins.
void handed_start(const struct arena_layout* layout, unsigned char* arena, uint32_t round);

struct handed {
    int64_t own;   // bytes that are no input as it lies there, calls included
    int64_t sent;  // all bytes; of memory that both sides reach: if other numbers arrive
    int64_t back;  // bytes that came back before the last kernel began
};
struct handed handed_stop(void);

// Any call that tells the device something: bytes that it tells.
void handed_call(size_t bytes);
// Memory that both sides reach was allocated: host code may fill it.
void handed_room(size_t bytes);
// A launch is such a call, with the bytes of its arguments.
void handed_launch(size_t bytes);
// A copy to the device of so many rows was made, or one to the host.
void handed_copy(const void* from, size_t pitch, size_t width, size_t height);
void handed_back(size_t bytes);

// Rows that a copy is to take to the device, as they arrive there: `from` itself; or memory of its
// own without gaps, *pitch of it, for handed_free().
const void* handed_rows(const void* from, size_t* pitch, size_t width, size_t height);
void handed_free(const void* rows, const void* from, size_t bytes);

// Memory that both sides reach, each piece of it, in the same order: before a launch and after it.
void handed_before_launch(void* shared, size_t bytes);
void handed_after_launch(void* shared, size_t bytes);

#endif
