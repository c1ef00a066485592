// Which functions of the file run where.
#ifndef CUDEV_REWRITE_FUNCTIONS_H
#define CUDEV_REWRITE_FUNCTIONS_H

#include "cpu/rewrite/tokens.h"

// Reads which functions the file has, before anything is replaced.
void read_functions(void);
bool on_device(size_t i);       // is token i in a kernel or a helper?
bool only_on_device(size_t i);  // ... and not in a function that is also the host's?
// Warns if the local array `name` is used as if all threads of the block had it in common.
void check_own_array(size_t name);
extern bool unset_array;  // it has warned
enum side { NO_SIDE, HOST_SIDE, DEVICE_SIDE, BOTH_SIDES };
enum side function_side(size_t i);  // of the function whose body holds token i
bool is_parameter_here(size_t i);   // is the word a parameter of that function?
void check_call(size_t i);          // fails if a kernel calls a function of the host there
void check_launched(size_t last);   // fails unless the expression up to `last` can be a kernel
void check_retired(size_t i);       // fails if the word is a function that CUDA had

#endif
