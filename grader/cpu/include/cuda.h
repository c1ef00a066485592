// cuda.h: of the driver API only the types of tensor maps, for tensor_map_encode() of
// lessons/hopper.h; and the runtime API.
#ifndef CUDEV_CUDA_H
#define CUDEV_CUDA_H

#include "cuda_runtime.h"

typedef unsigned long long cuuint64_t;
typedef unsigned cuuint32_t;

typedef enum {
    CUDA_SUCCESS = 0,
    CUDA_ERROR_INVALID_VALUE = 1,
    CUDA_ERROR_NOT_SUPPORTED = 801,
} CUresult;

typedef enum {
    CU_TENSOR_MAP_DATA_TYPE_UINT8 = 0,
    CU_TENSOR_MAP_DATA_TYPE_FLOAT16 = 6,
    CU_TENSOR_MAP_DATA_TYPE_FLOAT32 = 7,
    CU_TENSOR_MAP_DATA_TYPE_BFLOAT16 = 9,
} CUtensorMapDataType;

typedef struct __attribute__((aligned(128))) {
    cuuint64_t opaque[16];
} CUtensorMap;

#endif
