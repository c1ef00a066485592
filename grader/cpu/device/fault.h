// Faults of kernels and of host code: their diagnoses.
#ifndef CUDEV_FAULT_H
#define CUDEV_FAULT_H

#include "cpu/device/lines.h"
#include "cpu/device/worker.h"

// Where a worker was when the watchdog asked it.
struct call_stack {
    void* frames[MAX_FRAMES];
    atomic_int count;  // of frames; -1 until the worker has answered
};

void cudev_faults_init(void);  // installs the signal handlers
// The calling worker gets a separate stack for the handlers: the stack of its fiber may be the
// problem.
void cudev_faults_thread(struct worker* w);
// Stops a worker for ever and asks for its call stack; waits at most a second.
const struct call_stack* cudev_ask_where(struct worker* w);
// Ends the program: host code touches memory that is not its own.
void cudev_report_host_access(const void* address);
// For a debugger to stop at: a fault that the device does not explain.
void cudev_unexplained_fault(void);

// The CUDA function that copies or fills just now, "cudaMemcpy"; NULL: none does.
extern const char* cudev_copying;

#endif
