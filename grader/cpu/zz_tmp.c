// Temporary (the lead removes it): weak fallbacks until device.c defines these.
#include <cuda_runtime_api.h>
__attribute__((weak)) cudaError_t cudaMemcpyFromSymbol(void* a, const void* b, size_t c, size_t d, enum cudaMemcpyKind k) { (void)a,(void)b,(void)c,(void)d,(void)k; return cudaErrorNotSupported; }
__attribute__((weak)) cudaError_t cudaHostAlloc(void** a, size_t b, unsigned f) { (void)a,(void)b,(void)f; return cudaErrorNotSupported; }
__attribute__((weak)) cudaError_t cudaMallocHost(void** a, size_t b) { (void)a,(void)b; return cudaErrorNotSupported; }
__attribute__((weak)) cudaError_t cudaMallocManaged(void** a, size_t b, unsigned f) { (void)a,(void)b,(void)f; return cudaErrorNotSupported; }
