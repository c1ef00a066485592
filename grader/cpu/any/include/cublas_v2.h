// cuBLAS as far as a program sets it up: handles, modes and streams. A call that computes with it
// is refused, with its name and line, when the program gets there: other kernels of the same file
// run.
#ifndef CUDEV_CUBLAS_H
#define CUDEV_CUBLAS_H

#define CUBLAS_API_H_  // headers of programs ask for it
#define CUBLASAPI
#include <stdint.h>
#include "cuda_bf16.h"
#include "cuda_fp16.h"
#include "cuda_runtime.h"
#include "library_types.h"

typedef enum {
    CUBLAS_STATUS_SUCCESS = 0,
    CUBLAS_STATUS_NOT_INITIALIZED = 1,
    CUBLAS_STATUS_ALLOC_FAILED = 3,
    CUBLAS_STATUS_INVALID_VALUE = 7,
    CUBLAS_STATUS_ARCH_MISMATCH = 8,
    CUBLAS_STATUS_MAPPING_ERROR = 11,
    CUBLAS_STATUS_EXECUTION_FAILED = 13,
    CUBLAS_STATUS_INTERNAL_ERROR = 14,
    CUBLAS_STATUS_NOT_SUPPORTED = 15,
    CUBLAS_STATUS_LICENSE_ERROR = 16
} cublasStatus_t;
typedef enum { CUBLAS_OP_N = 0, CUBLAS_OP_T = 1, CUBLAS_OP_C = 2 } cublasOperation_t;
typedef enum { CUBLAS_FILL_MODE_LOWER = 0, CUBLAS_FILL_MODE_UPPER = 1 } cublasFillMode_t;
typedef enum { CUBLAS_DIAG_NON_UNIT = 0, CUBLAS_DIAG_UNIT = 1 } cublasDiagType_t;
typedef enum { CUBLAS_SIDE_LEFT = 0, CUBLAS_SIDE_RIGHT = 1 } cublasSideMode_t;
typedef enum { CUBLAS_POINTER_MODE_HOST = 0, CUBLAS_POINTER_MODE_DEVICE = 1 } cublasPointerMode_t;
typedef enum {
    CUBLAS_DEFAULT_MATH = 0,
    CUBLAS_TENSOR_OP_MATH = 1,
    CUBLAS_PEDANTIC_MATH = 2,
    CUBLAS_TF32_TENSOR_OP_MATH = 3
} cublasMath_t;
typedef enum {
    CUBLAS_COMPUTE_16F = 64,
    CUBLAS_COMPUTE_32F = 68,
    CUBLAS_COMPUTE_32F_FAST_16F = 74,
    CUBLAS_COMPUTE_32F_FAST_16BF = 75,
    CUBLAS_COMPUTE_32F_FAST_TF32 = 77,
    CUBLAS_COMPUTE_64F = 70
} cublasComputeType_t;
typedef enum {
    CUBLAS_GEMM_DFALT = -1,
    CUBLAS_GEMM_DEFAULT = -1,
    CUBLAS_GEMM_DFALT_TENSOR_OP = 99,
    CUBLAS_GEMM_DEFAULT_TENSOR_OP = 99
} cublasGemmAlgo_t;
typedef struct cublasContext* cublasHandle_t;

static inline cublasStatus_t cublasCreate(cublasHandle_t* handle) {
    *handle = (cublasHandle_t)handle;
    return CUBLAS_STATUS_SUCCESS;
}
#define CUDEV_CUBLAS_SET(name, type)                                           \
    static inline cublasStatus_t name(cublasHandle_t handle, type value) {     \
        (void)value;                                                           \
        return handle ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_NOT_INITIALIZED; \
    }
CUDEV_CUBLAS_SET(cublasSetStream, cudaStream_t)
CUDEV_CUBLAS_SET(cublasSetMathMode, cublasMath_t)
CUDEV_CUBLAS_SET(cublasSetPointerMode, cublasPointerMode_t)
#undef CUDEV_CUBLAS_SET
static inline cublasStatus_t cublasDestroy(cublasHandle_t handle) {
    return handle ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_NOT_INITIALIZED;
}
static inline const char* cublasGetStatusString(cublasStatus_t status) {
    return status == CUBLAS_STATUS_SUCCESS ? "CUBLAS_STATUS_SUCCESS"
                                           : "CUBLAS_STATUS_NOT_SUPPORTED";
}

static inline cublasStatus_t cudev_no_cublas(const char* what, const char* file, int line) {
    cudev_not_here(what, "use a kernel of your own", file, line);
    return CUBLAS_STATUS_NOT_SUPPORTED;
}
#define CUDEV_NO_CUBLAS(name) cudev_no_cublas("cuBLAS: " name "()", __FILE__, __LINE__)
#define cublasSgemm(...) CUDEV_NO_CUBLAS("cublasSgemm")
#define cublasDgemm(...) CUDEV_NO_CUBLAS("cublasDgemm")
#define cublasHgemm(...) CUDEV_NO_CUBLAS("cublasHgemm")
#define cublasSgemmEx(...) CUDEV_NO_CUBLAS("cublasSgemmEx")
#define cublasGemmEx(...) CUDEV_NO_CUBLAS("cublasGemmEx")
#define cublasSgemmBatched(...) CUDEV_NO_CUBLAS("cublasSgemmBatched")
#define cublasSgemmStridedBatched(...) CUDEV_NO_CUBLAS("cublasSgemmStridedBatched")
#define cublasGemmStridedBatchedEx(...) CUDEV_NO_CUBLAS("cublasGemmStridedBatchedEx")
#define cublasSgemv(...) CUDEV_NO_CUBLAS("cublasSgemv")
#define cublasDgemv(...) CUDEV_NO_CUBLAS("cublasDgemv")
#define cublasSgeam(...) CUDEV_NO_CUBLAS("cublasSgeam")
#define cublasStrsm(...) CUDEV_NO_CUBLAS("cublasStrsm")
#define cublasSaxpy(...) CUDEV_NO_CUBLAS("cublasSaxpy")
#define cublasDaxpy(...) CUDEV_NO_CUBLAS("cublasDaxpy")
#define cublasSdot(...) CUDEV_NO_CUBLAS("cublasSdot")
#define cublasDdot(...) CUDEV_NO_CUBLAS("cublasDdot")
#define cublasSscal(...) CUDEV_NO_CUBLAS("cublasSscal")
#define cublasSnrm2(...) CUDEV_NO_CUBLAS("cublasSnrm2")
#define cublasSasum(...) CUDEV_NO_CUBLAS("cublasSasum")
#define cublasIsamax(...) CUDEV_NO_CUBLAS("cublasIsamax")
#define cublasSetVector(...) CUDEV_NO_CUBLAS("cublasSetVector")
#define cublasGetVector(...) CUDEV_NO_CUBLAS("cublasGetVector")
#define cublasSetMatrix(...) CUDEV_NO_CUBLAS("cublasSetMatrix")
#define cublasGetMatrix(...) CUDEV_NO_CUBLAS("cublasGetMatrix")

#endif
