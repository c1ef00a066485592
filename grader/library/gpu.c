// gpu.c: library_call() on a GPU. The launchers of the course know the default stream only. PyTorch
// has a current stream, which need not be that one: another thread's, or a captured graph's. So the
// library is linked with --wrap for every function below (make/torch.sh): a launch, a copy or a
// fill that the .cu puts into the default stream arrives here first, and goes into the caller's.
#include <cuda_runtime_api.h>
#include <stdio.h>

#include "library/library.h"
#include "run/run.h"

static _Thread_local cudaStream_t current;

static cudaStream_t instead_of(cudaStream_t stream) {
    return stream == NULL || stream == cudaStreamLegacy ? current : stream;
}

// What kernel<<<grid, block, bytes, stream>>> calls first; the launch takes its stream from there.
unsigned __real___cudaPushCallConfiguration(dim3 grid, dim3 block, size_t bytes, void* stream);
unsigned __wrap___cudaPushCallConfiguration(dim3 grid, dim3 block, size_t bytes, void* stream) {
    return __real___cudaPushCallConfiguration(grid, block, bytes, instead_of(stream));
}

cudaError_t __real_cudaLaunchKernel(const void* kernel, dim3 grid, dim3 block, void** arguments,
                                    size_t bytes, cudaStream_t stream);
cudaError_t __wrap_cudaLaunchKernel(const void* kernel, dim3 grid, dim3 block, void** arguments,
                                    size_t bytes, cudaStream_t stream) {
    return __real_cudaLaunchKernel(kernel, grid, block, arguments, bytes, instead_of(stream));
}

cudaError_t __real_cudaLaunchKernelExC(const cudaLaunchConfig_t* config, const void* kernel,
                                       void** arguments);
cudaError_t __wrap_cudaLaunchKernelExC(const cudaLaunchConfig_t* config, const void* kernel,
                                       void** arguments) {
    cudaLaunchConfig_t moved = *config;
    moved.stream = instead_of(config->stream);
    return __real_cudaLaunchKernelExC(&moved, kernel, arguments);
}

cudaError_t __real_cudaMemsetAsync(void* p, int byte, size_t bytes, cudaStream_t stream);
cudaError_t __wrap_cudaMemsetAsync(void* p, int byte, size_t bytes, cudaStream_t stream) {
    return __real_cudaMemsetAsync(p, byte, bytes, instead_of(stream));
}

cudaError_t __wrap_cudaMemset(void* p, int byte, size_t bytes) {
    return __real_cudaMemsetAsync(p, byte, bytes, current);
}

cudaError_t __real_cudaMemset2DAsync(void* p, size_t pitch, int byte, size_t width, size_t height,
                                     cudaStream_t stream);
cudaError_t __wrap_cudaMemset2DAsync(void* p, size_t pitch, int byte, size_t width, size_t height,
                                     cudaStream_t stream) {
    return __real_cudaMemset2DAsync(p, pitch, byte, width, height, instead_of(stream));
}

cudaError_t __real_cudaMemcpyAsync(void* to, const void* from, size_t bytes,
                                   enum cudaMemcpyKind kind, cudaStream_t stream);
cudaError_t __wrap_cudaMemcpyAsync(void* to, const void* from, size_t bytes,
                                   enum cudaMemcpyKind kind, cudaStream_t stream) {
    return __real_cudaMemcpyAsync(to, from, bytes, kind, instead_of(stream));
}

int library_call(const struct library_argument* arguments, int count, void* stream, char* said,
                 size_t room) {
    said[0] = '\0';
    library_take(arguments, count);
    current = stream;
    cudaGetLastError();  // an error of somebody else is not this launcher's
    int status = call();
    if (library_missing()) {
        snprintf(said, room, "its call.c asks for %s", library_missing());
        return LIBRARY_MISSING;
    }
    if (status == COURSE_CUDA_ERROR)
        snprintf(said, room, "CUDA says %s", cudaGetErrorString(cudaGetLastError()));
    return status;
}
