// streams.c: what library/gpu.c makes of the streams that a .cu names. The functions of CUDA are
// those below, which only remember their stream: no GPU is needed, CUDA's headers are.
#include <cuda_runtime_api.h>
#include <stdio.h>

#include "library/library.h"
#include "run/run.h"

static void* given;

unsigned __real___cudaPushCallConfiguration(dim3 grid, dim3 block, size_t bytes, void* stream) {
    (void)grid, (void)block, (void)bytes;
    given = stream;
    return 0;
}
cudaError_t __real_cudaLaunchKernel(const void* kernel, dim3 grid, dim3 block, void** arguments,
                                    size_t bytes, cudaStream_t stream) {
    (void)kernel, (void)grid, (void)block, (void)arguments, (void)bytes;
    given = stream;
    return cudaSuccess;
}
cudaError_t __real_cudaLaunchKernelExC(const cudaLaunchConfig_t* config, const void* kernel,
                                       void** arguments) {
    (void)kernel, (void)arguments;
    given = config->stream;
    return cudaSuccess;
}
cudaError_t __real_cudaMemsetAsync(void* p, int byte, size_t bytes, cudaStream_t stream) {
    (void)p, (void)byte, (void)bytes;
    given = stream;
    return cudaSuccess;
}
cudaError_t __real_cudaMemset2DAsync(void* p, size_t pitch, int byte, size_t width, size_t height,
                                     cudaStream_t stream) {
    (void)p, (void)pitch, (void)byte, (void)width, (void)height;
    given = stream;
    return cudaSuccess;
}
cudaError_t __real_cudaMemcpyAsync(void* to, const void* from, size_t bytes,
                                   enum cudaMemcpyKind kind, cudaStream_t stream) {
    (void)to, (void)from, (void)bytes, (void)kind;
    given = stream;
    return cudaSuccess;
}
cudaError_t cudaGetLastError(void) {
    return cudaSuccess;
}
const char* cudaGetErrorString(cudaError_t error) {
    (void)error;
    return "";
}

unsigned __wrap___cudaPushCallConfiguration(dim3 grid, dim3 block, size_t bytes, void* stream);
cudaError_t __wrap_cudaLaunchKernel(const void* kernel, dim3 grid, dim3 block, void** arguments,
                                    size_t bytes, cudaStream_t stream);
cudaError_t __wrap_cudaLaunchKernelExC(const cudaLaunchConfig_t* config, const void* kernel,
                                       void** arguments);
cudaError_t __wrap_cudaMemsetAsync(void* p, int byte, size_t bytes, cudaStream_t stream);
cudaError_t __wrap_cudaMemset(void* p, int byte, size_t bytes);
cudaError_t __wrap_cudaMemset2DAsync(void* p, size_t pitch, int byte, size_t width, size_t height,
                                     cudaStream_t stream);
cudaError_t __wrap_cudaMemcpyAsync(void* to, const void* from, size_t bytes,
                                   enum cudaMemcpyKind kind, cudaStream_t stream);

static int calls, wrong;

static void went_to(const char* what, void* stream) {
    calls++;
    if (given == stream) return;
    wrong++;
    printf("%s went to stream %p, not %p\n", what, given, stream);
}

// What launchers do, in the default stream by both of its names, and in one of their own.
int call(void) {
    char own;
    void* mine = (void*)&own;
    void* theirs = *(void**)run_gpu("current");
    const dim3 one = {1, 1, 1};
    void* const asked[] = {NULL, cudaStreamLegacy, mine};
    for (int i = 0; i < 3; i++) {
        void* wanted = asked[i] == mine ? mine : theirs;
        __wrap___cudaPushCallConfiguration(one, one, 0, asked[i]);
        went_to("<<< >>>", wanted);
        __wrap_cudaLaunchKernel(NULL, one, one, NULL, 0, asked[i]);
        went_to("cudaLaunchKernel", wanted);
        const cudaLaunchConfig_t config = {.stream = asked[i]};
        __wrap_cudaLaunchKernelExC(&config, NULL, NULL);
        went_to("cudaLaunchKernelExC", wanted);
        __wrap_cudaMemsetAsync(NULL, 0, 0, asked[i]);
        went_to("cudaMemsetAsync", wanted);
        __wrap_cudaMemset2DAsync(NULL, 0, 0, 0, 0, asked[i]);
        went_to("cudaMemset2DAsync", wanted);
        __wrap_cudaMemcpyAsync(NULL, NULL, 0, cudaMemcpyDeviceToDevice, asked[i]);
        went_to("cudaMemcpyAsync", wanted);
    }
    __wrap_cudaMemset(NULL, 0, 0);
    went_to("cudaMemset", theirs);
    return COURSE_OK;
}

int main(void) {
    char of_pytorch, said[64];
    void* current[] = {&of_pytorch, NULL};
    int status = COURSE_OK;
    for (int i = 0; i < 2; i++) {  // PyTorch's current stream may be the default one
        const struct library_argument stream = {
            .name = "current", .kind = LIBRARY_INPUT, .pointer = &current[i], .bytes = 8};
        status |= library_call(&stream, 1, current[i], said, sizeof said);
    }
    return status == COURSE_OK && calls == 38 && !wrong ? 0 : 1;
}
