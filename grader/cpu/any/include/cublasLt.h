// cuBLASLt as far as a program sets it up; see cublas_v2.h.
#ifndef CUDEV_CUBLASLT_H
#define CUDEV_CUBLASLT_H

#include "cublas_v2.h"

typedef struct cublasLtContext* cublasLtHandle_t;
typedef struct cudev_lt* cublasLtMatmulDesc_t;
typedef struct cudev_lt* cublasLtMatrixLayout_t;
typedef struct cudev_lt* cublasLtMatrixTransformDesc_t;
typedef struct cudev_lt* cublasLtMatmulPreference_t;
typedef struct {
    int algorithm;
} cublasLtMatmulAlgo_t;
typedef struct {
    cublasLtMatmulAlgo_t algo;
    size_t workspaceSize;
    cublasStatus_t state;
    float wavesCount;
} cublasLtMatmulHeuristicResult_t;
typedef enum {
    CUBLASLT_EPILOGUE_DEFAULT = 1,
    CUBLASLT_EPILOGUE_RELU = 2,
    CUBLASLT_EPILOGUE_BIAS = 4,
    CUBLASLT_EPILOGUE_RELU_BIAS = 6,
    CUBLASLT_EPILOGUE_GELU = 32,
    CUBLASLT_EPILOGUE_GELU_BIAS = 36,
    CUBLASLT_EPILOGUE_GELU_AUX = 160,
    CUBLASLT_EPILOGUE_GELU_AUX_BIAS = 164,
    CUBLASLT_EPILOGUE_DGELU = 192,
    CUBLASLT_EPILOGUE_BGRADA = 256,
    CUBLASLT_EPILOGUE_BGRADB = 512
} cublasLtEpilogue_t;
typedef enum { CUBLASLT_ORDER_COL = 0, CUBLASLT_ORDER_ROW = 1 } cublasLtOrder_t;
typedef enum { CUBLASLT_POINTER_MODE_HOST = 0 } cublasLtPointerMode_t;

static inline cublasStatus_t cublasLtCreate(cublasLtHandle_t* handle) {
    *handle = (cublasLtHandle_t)handle;
    return CUBLAS_STATUS_SUCCESS;
}
static inline cublasStatus_t cublasLtDestroy(cublasLtHandle_t handle) {
    return handle ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_NOT_INITIALIZED;
}
#define cublasLtMatmul(...) CUDEV_NO_CUBLAS("cublasLtMatmul")
#define cublasLtMatmulDescCreate(...) CUDEV_NO_CUBLAS("cublasLtMatmulDescCreate")
#define cublasLtMatmulDescSetAttribute(...) CUDEV_NO_CUBLAS("cublasLtMatmulDescSetAttribute")
#define cublasLtMatmulDescDestroy(...) CUDEV_NO_CUBLAS("cublasLtMatmulDescDestroy")
#define cublasLtMatrixLayoutCreate(...) CUDEV_NO_CUBLAS("cublasLtMatrixLayoutCreate")
#define cublasLtMatrixLayoutSetAttribute(...) CUDEV_NO_CUBLAS("cublasLtMatrixLayoutSetAttribute")
#define cublasLtMatrixLayoutDestroy(...) CUDEV_NO_CUBLAS("cublasLtMatrixLayoutDestroy")
#define cublasLtMatmulPreferenceCreate(...) CUDEV_NO_CUBLAS("cublasLtMatmulPreferenceCreate")
#define cublasLtMatmulPreferenceSetAttribute(...) \
    CUDEV_NO_CUBLAS("cublasLtMatmulPreferenceSetAttribute")
#define cublasLtMatmulPreferenceDestroy(...) CUDEV_NO_CUBLAS("cublasLtMatmulPreferenceDestroy")
#define cublasLtMatmulAlgoGetHeuristic(...) CUDEV_NO_CUBLAS("cublasLtMatmulAlgoGetHeuristic")

#endif
