// Launching kernels; the launches themselves come through cudev_launch() in abi.h.
#ifndef CUDEV_LAUNCH_H
#define CUDEV_LAUNCH_H

// The number of workers that run blocks.
int cudev_worker_count(void);

#endif
