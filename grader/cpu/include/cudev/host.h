// CUDA's words in a source that has no kernels and is compiled as C++ (cudev.sh).
#ifndef CUDEV_HOST_H
#define CUDEV_HOST_H

#define __host__
#define __device__
#define __forceinline__ inline __attribute__((always_inline))
#define __align__(bytes) __attribute__((aligned(bytes)))

#endif
