// The runtime API: memory, copies, errors, events, streams, properties, limits.
#include "test.h"
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include "cudev.h"

__global__ void nothing() {}
__global__ void fill(float* p, int n, float value) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) p[i] = value;
}
__global__ void use_dynamic(int* out, int last) {
    extern __shared__ char bytes[];
    bytes[last] = 7;
    *out = bytes[last];
}
template <int n> __global__ void use_dynamic_n(int* out) {
    extern __shared__ char bytes[];
    bytes[n] = 8;
    *out = bytes[n];
}

static void memory(void) {
    size_t before, after, total;
    float *p = NULL, host[100];
    CHECK_CUDA(cudaMemGetInfo(&before, &total));
    CHECK(total == (size_t)2 << 30);
    CHECK_CUDA(cudaMalloc(&p, sizeof host));
    CHECK((size_t)p % 256 == 0);
    CHECK_CUDA(cudaMemcpy(host, p, sizeof host, cudaMemcpyDeviceToHost));
    CHECK(isnan(host[0]) && isnan(host[99]));  // fresh memory
    CHECK_CUDA(cudaMemset(p, 0, sizeof host));
    CHECK_CUDA(cudaMemcpy(host, p, sizeof host, cudaMemcpyDeviceToHost));
    CHECK(host[0] == 0 && host[99] == 0);
    CHECK_CUDA(cudaMemGetInfo(&after, NULL));
    CHECK(before - after == sizeof host);

    CHECK(cudaMemcpy(p, host, sizeof host + 1, cudaMemcpyHostToDevice) == cudaErrorInvalidValue);
    CHECK(cudaMemcpy(p + 1, host, sizeof host, cudaMemcpyHostToDevice) == cudaErrorInvalidValue);
    CHECK(cudaMemcpy(host, p, sizeof host, cudaMemcpyHostToDevice) == cudaErrorInvalidValue);
    CHECK(cudaMemcpy(p, host, sizeof host, cudaMemcpyDeviceToHost) == cudaErrorInvalidValue);
    CHECK(cudaMemcpy(p, NULL, 4, cudaMemcpyHostToDevice) == cudaErrorInvalidValue);
    CHECK(cudaMemcpy(p, host, 4, (cudaMemcpyKind)9) == cudaErrorInvalidMemcpyDirection);
    CHECK_CUDA(cudaMemcpy(p, host, sizeof host, cudaMemcpyDefault));
    CHECK_CUDA(cudaMemcpy(p, NULL, 0, cudaMemcpyHostToDevice));
    CHECK(cudaFree(p + 1) == cudaErrorInvalidValue);
    CHECK(cudaFree(host) == cudaErrorInvalidValue);
    CHECK_CUDA(cudaFree(p));
    CHECK(cudaFree(p) == cudaErrorInvalidValue);
    CHECK(cudaMemcpy(p, host, 4, cudaMemcpyHostToDevice) == cudaErrorInvalidValue);
    CHECK_CUDA(cudaFree(NULL));
    CHECK(cudaMalloc(&p, (size_t)3 << 30) == cudaErrorMemoryAllocation && !p);
    CHECK_CUDA(cudaMalloc(&p, 0));
    CHECK(cudaGetLastError() == cudaErrorMemoryAllocation && cudaGetLastError() == cudaSuccess);
}

// Many allocations of different sizes, freed in another order; contents stay apart.
static void many(void) {
    enum { COUNT = 200 };
    float* p[COUNT];
    for (int i = 0; i < COUNT; i++) {
        CHECK_CUDA(cudaMalloc(&p[i], (i + 1) * 52));
        fill<<<2, 128>>>(p[i], (i + 1) * 13 < 256 ? (i + 1) * 13 : 256, (float)i);
        if (i % 3 == 2) CHECK_CUDA(cudaFree(p[i - 1]));
    }
    for (int i = 0; i < COUNT; i++) {
        float first = -1;
        if (i % 3 == 1 && i + 1 < COUNT) continue;
        CHECK_CUDA(cudaMemcpy(&first, p[i], sizeof first, cudaMemcpyDeviceToHost));
        CHECK(first == (float)i);
        CHECK_CUDA(cudaFree(p[i]));
    }
    cudev_stats stats;
    cudev_get_stats(&stats);
    CHECK(stats.live_count == 0 && stats.live_bytes == 0 && stats.peak_bytes > 0);
}

static void shared_with_host(void) {
    float *managed, *pinned, *mapped, *pitched, host[6] = {1, 2, 3, 4, 5, 6}, back[6] = {0};
    size_t pitch;
    CHECK_CUDA(cudaMallocManaged(&managed, 64));
    CHECK_CUDA(cudaMallocHost(&pinned, 64));
    fill<<<1, 16>>>(managed, 16, 3.0f);
    CHECK_CUDA(cudaHostGetDevicePointer(&mapped, pinned, 0));
    fill<<<1, 16>>>(mapped, 16, 4.0f);
    CHECK_CUDA(cudaDeviceSynchronize());
    CHECK(managed[15] == 3.0f && pinned[15] == 4.0f);
    cudaPointerAttributes attributes;
    CHECK_CUDA(cudaPointerGetAttributes(&attributes, managed));
    CHECK(attributes.type == cudaMemoryTypeManaged);
    CHECK(cudaFree(pinned) == cudaErrorInvalidValue);
    CHECK_CUDA(cudaFree(managed));
    CHECK_CUDA(cudaFreeHost(pinned));

    CHECK_CUDA(cudaMallocPitch(&pitched, &pitch, 3 * sizeof(float), 2));
    CHECK_CUDA(cudaMemcpy2D(pitched, pitch, host, 12, 12, 2, cudaMemcpyHostToDevice));
    CHECK_CUDA(cudaMemcpy2D(back, 12, pitched, pitch, 12, 2, cudaMemcpyDeviceToHost));
    for (int i = 0; i < 6; i++) CHECK(back[i] == host[i]);
    CHECK(cudaMemcpy2D(back, 8, pitched, pitch, 12, 2, cudaMemcpyDeviceToHost) ==
          cudaErrorInvalidValue);
    CHECK_CUDA(cudaFree(pitched));
    cudaGetLastError();
}

static cudaError_t try_launch(dim3 grid, dim3 block, size_t bytes = 0) {
    nothing<<<grid, block, bytes>>>();
    cudaError_t error = cudaPeekAtLastError();
    CHECK(cudaGetLastError() == error && cudaGetLastError() == cudaSuccess);
    return error;
}

static void limits(void) {
    const cudaError_t bad = cudaErrorInvalidConfiguration;
    CHECK_CUDA(try_launch(1, 1024));
    CHECK(try_launch(1, 1025) == bad && try_launch(1, dim3(33, 32)) == bad);
    CHECK_CUDA(try_launch(1, dim3(1, 1, 64)));
    CHECK(try_launch(1, dim3(1, 1, 65)) == bad);
    CHECK(try_launch(0, 32) == bad && try_launch(1, 0) == bad && try_launch(1, dim3(4, 0)) == bad);
    CHECK_CUDA(try_launch(dim3(1, 65535), 1));
    CHECK(try_launch(dim3(1, 65536), 1) == bad && try_launch(dim3(1, 1, 65536), 1) == bad);
    CHECK(try_launch(1u << 31, 1) == bad);
    CHECK_CUDA(try_launch(1, 1, 48 * 1024));
    CHECK(try_launch(1, 1, 48 * 1024 + 1) == cudaErrorInvalidValue);

    int* out = new_ints(1, 0);
    const int large = 227 * 1024;
    const cudaFuncAttribute attribute = cudaFuncAttributeMaxDynamicSharedMemorySize;
    use_dynamic<<<1, 1, large>>>(out, large - 1);
    CHECK(cudaGetLastError() == cudaErrorInvalidValue && int_at(out, 0) == 0);
    CHECK_CUDA(cudaFuncSetAttribute(use_dynamic, attribute, large));
    use_dynamic<<<1, 1, large>>>(out, large - 1);
    CHECK(cudaGetLastError() == cudaSuccess && int_at(out, 0) == 7);
    CHECK(cudaFuncSetAttribute(use_dynamic, attribute, large + 1) == cudaErrorInvalidValue);
    // the permission is the kernel's own, each instance of a template has its own
    use_dynamic_n<60000><<<1, 1, 65536>>>(out);
    CHECK(cudaPeekAtLastError() == cudaErrorInvalidValue && int_at(out, 0) == 7);
    CHECK_CUDA(cudaFuncSetAttribute(use_dynamic_n<60000>, attribute, 65536));
    use_dynamic_n<60000><<<1, 1, 65536>>>(out);
    CHECK(int_at(out, 0) == 8);
    use_dynamic_n<60001><<<1, 1, 65536>>>(out);
    CHECK(cudaGetLastError() == cudaErrorInvalidValue);
    // also where a variable holds the kernel
    void (*held)(int*) = use_dynamic_n<60001>;
    held<<<1, 1, 65536>>>(out);
    CHECK(cudaGetLastError() == cudaErrorInvalidValue);
    CHECK_CUDA(cudaMemset(out, 0, sizeof(int)));
    CHECK_CUDA(cudaFuncSetAttribute(held, attribute, 65536));
    held<<<1, 1, 65536>>>(out);
    CHECK(cudaGetLastError() == cudaSuccess && int_at(out, 0) == 8);
    cudaFree(out);
}

static void time_and_device(void) {
    cudaEvent_t start, stop;
    cudaStream_t stream;
    float ms = -1, *p;
    CHECK_CUDA(cudaEventCreate(&start));
    CHECK_CUDA(cudaEventCreate(&stop));
    CHECK(cudaEventElapsedTime(&ms, start, stop) == cudaErrorInvalidResourceHandle);
    CHECK_CUDA(cudaStreamCreate(&stream));
    CHECK_CUDA(cudaMallocAsync(&p, 4 << 20, stream));
    CHECK_CUDA(cudaEventRecord(start, stream));
    fill<<<4096, 256, 0, stream>>>(p, 1 << 20, 1.0f);
    CHECK_CUDA(cudaEventRecord(stop, stream));
    CHECK_CUDA(cudaEventSynchronize(stop));
    CHECK_CUDA(cudaEventElapsedTime(&ms, start, stop));
    CHECK(ms > 0.01f && ms < 10000.0f);
    CHECK_CUDA(cudaMemsetAsync(p, 0, 16, stream));
    CHECK_CUDA(cudaFreeAsync(p, stream));
    CHECK_CUDA(cudaStreamSynchronize(stream));
    CHECK_CUDA(cudaStreamDestroy(stream));
    CHECK_CUDA(cudaStreamSynchronize(cudaStreamPerThread));
    CHECK(cudaStreamDestroy(cudaStreamPerThread) == cudaErrorInvalidResourceHandle);
    CHECK(cudaStreamDestroy(cudaStreamLegacy) == cudaErrorInvalidResourceHandle);
    CHECK_CUDA(cudaEventDestroy(start));
    CHECK_CUDA(cudaEventDestroy(stop));

    int count = 0, value = 0;
    cudaDeviceProp prop;
    CHECK_CUDA(cudaGetDeviceCount(&count));
    CHECK_CUDA(cudaGetDeviceProperties(&prop, 0));
    CHECK(count == 1 && prop.warpSize == 32 && prop.sharedMemPerBlockOptin == 227 * 1024);
    CHECK(strcmp(prop.name, "CPU device posing as NVIDIA H200") == 0);
    CHECK(prop.multiProcessorCount == 132 && prop.maxThreadsPerMultiProcessor == 2048);
    CHECK_CUDA(cudaDeviceGetAttribute(&value, cudaDevAttrMaxSharedMemoryPerBlockOptin, 0));
    CHECK(value == 227 * 1024);
    CHECK(cudaSetDevice(1) == cudaErrorInvalidDevice);
    CHECK_CUDA(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&value, nothing, 128, 0));
    CHECK(value == 16);
    CHECK_CUDA(cudaDeviceGetAttribute(&value, cudaDevAttrMaxBlocksPerMultiprocessor, 0));
    CHECK(value == 32);
    int grid = 0;
    CHECK_CUDA(cudaOccupancyMaxPotentialBlockSize(&grid, &value, nothing));
    CHECK(grid == 264 && value == 1024);
    CHECK(cudaGetErrorString(cudaErrorInvalidDevice)[0] == 'i');
}

// As with CUDA, a process forked after the first call cannot use the device, and does no harm.
static void forked(void) {
    int* p = new_ints(1, 5);
    int status = 0;
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        bool refused = cudaFree(p) == cudaErrorInitializationError;
        nothing<<<1, 1>>>();
        exit(refused && cudaGetLastError() == cudaErrorInitializationError ? 7 : 8);
    }
    CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 7);
    CHECK(int_at(p, 0) == 5);
    CHECK_CUDA(cudaFree(p));
}

__global__ void mark(int* marks) {
    marks[blockIdx.y * gridDim.x + blockIdx.x] = 1;
}

// How many blocks of a grid of x * y run, of those from number `from` on.
static int blocks_run(int x, int y, int from) {
    int *marks = new_ints(x * y, 0), *host = (int*)malloc(x * y * sizeof(int)), count = 0;
    mark<<<dim3(x, y), 1>>>(marks);
    CHECK_CUDA(cudaMemcpy(host, marks, x * y * sizeof(int), cudaMemcpyDeviceToHost));
    for (int i = from; i < x * y; i++) count += host[i];
    free(host);
    CHECK_CUDA(cudaFree(marks));
    return count;
}

__global__ void count(int* order, int* count) {
    order[atomicAdd(count, 1)] = blockIdx.x;
}

// Each block once, and hardly ever behind the one with the number before it.
static void mixed_blocks(void) {
    static const int sizes[] = {1, 2, 3, 20, 64, 1000};
    cudev_run_few(CUDEV_MIXED_BLOCKS, 0);
    for (int blocks : sizes) {
        int *order_gpu = new_ints(blocks, -1), *count_gpu = new_ints(1, 0), behind = 0;
        int *order = (int*)malloc(blocks * sizeof(int)), *seen = (int*)calloc(blocks, sizeof(int));
        count<<<blocks, 1>>>(order_gpu, count_gpu);
        CHECK_CUDA(cudaMemcpy(order, order_gpu, blocks * sizeof(int), cudaMemcpyDeviceToHost));
        for (int i = 0; i < blocks; i++) {
            CHECK(order[i] >= 0 && order[i] < blocks && !seen[order[i]]++);
            behind += i > 0 && order[i] == order[i - 1] + 1;
        }
        CHECK(blocks < 20 || behind < blocks / 4);
        free(order), free(seen);
        CHECK_CUDA(cudaFree(order_gpu));
        CHECK_CUDA(cudaFree(count_gpu));
    }
    cudev_run_few(CUDEV_ALL_BLOCKS, 0);
}

static void few_blocks(void) {
    cudev_run_few(CUDEV_FEW_BLOCKS, 0);
    CHECK(blocks_run(7, 1, 0) == 0);
    CHECK(blocks_run(8, 2, 0) == 4 && blocks_run(8, 2, 14) == 2);
    CHECK(blocks_run(65600, 1, 0) == 80 && blocks_run(65600, 1, 65584) == 16);
    CHECK(blocks_run(65535, 2, 65536) == 64);
    cudev_run_few(CUDEV_FEW_OF_MANY, 0);
    CHECK(blocks_run(7, 1, 0) == 7 && blocks_run(1, 1, 0) == 1);
    CHECK(blocks_run(8, 2, 0) == 4 && blocks_run(65600, 1, 0) == 80);
    cudev_run_few(CUDEV_LAST_BLOCK, 0);
    CHECK(blocks_run(1, 1, 0) == 1 && blocks_run(65, 2, 0) == 1 && blocks_run(65, 2, 129) == 1);
    cudev_run_few(CUDEV_ONE_BLOCK, 0);
    cudev_choose_block(0);
    CHECK(blocks_run(1, 1, 0) == 1 && blocks_run(65, 2, 0) == 1 && blocks_run(65, 2, 1) == 0);
    cudev_choose_block(1u << 31);
    CHECK(blocks_run(1, 1, 0) == 1 && blocks_run(65, 2, 65) == 1 && blocks_run(65, 2, 66) == 0);
    cudev_choose_block(~0u);
    CHECK(blocks_run(1, 1, 0) == 1 && blocks_run(65, 2, 129) == 1);
    cudev_run_few(CUDEV_ALL_BLOCKS, 0);
    CHECK(blocks_run(65600, 1, 0) == 65600);
}

__global__ void set_last(char* p, size_t n) {
    if (blockIdx.x == gridDim.x - 1) p[n - 1] = (char)(p[n - 2] + 1);
    p[(ptrdiff_t)blockIdx.x - 1] = 1;  // the first one before the array
}

// Preferences, limits and flags can be read again.
static void settings(void) {
    size_t bytes = 0;
    unsigned flags = 0;
    int least = 1, greatest = 1, can = 1;
    cudaFuncCache cache;
    cudaSharedMemConfig banks;
    CHECK_CUDA(cudaInitDevice(0, cudaDeviceScheduleSpin, cudaInitDeviceFlagsAreValid));
    CHECK_CUDA(cudaGetDeviceFlags(&flags));
    CHECK(flags == (cudaDeviceScheduleSpin | cudaDeviceMapHost));
    CHECK(cudaSetDeviceFlags(1u << 31) == cudaErrorInvalidValue);
    CHECK_CUDA(cudaDeviceSetLimit(cudaLimitStackSize, 4096));
    CHECK_CUDA(cudaDeviceGetLimit(&bytes, cudaLimitStackSize));
    CHECK(bytes == 4096 && cudaDeviceSetLimit((cudaLimit)99, 1) == cudaErrorInvalidValue);
    CHECK_CUDA(cudaDeviceSetCacheConfig(cudaFuncCachePreferL1));
    CHECK_CUDA(cudaDeviceGetCacheConfig(&cache));
    CHECK(cache == cudaFuncCachePreferL1);
    CHECK_CUDA(cudaDeviceSetSharedMemConfig(cudaSharedMemBankSizeEightByte));
    CHECK_CUDA(cudaDeviceGetSharedMemConfig(&banks));
    CHECK(banks == cudaSharedMemBankSizeEightByte);
    CHECK_CUDA(cudaFuncSetCacheConfig(nothing, cudaFuncCachePreferShared));
    CHECK(cudaFuncSetCacheConfig(nothing, (cudaFuncCache)9) == cudaErrorInvalidValue);
    CHECK_CUDA(cudaFuncSetSharedMemConfig(nothing, cudaSharedMemBankSizeDefault));
    CHECK_CUDA(cudaDeviceGetStreamPriorityRange(&least, &greatest));
    CHECK(least == 0 && greatest == 0);
    CHECK(cudaDeviceCanAccessPeer(&can, 0, 1) == cudaErrorInvalidDevice && can == 0);
    cudaGetLastError();
}

static size_t four_bytes(int threads) {
    return 4 * (size_t)threads;
}

static void streams_and_occupancy(void) {
    cudaStream_t one, two;
    cudaEvent_t event;
    unsigned long long first = 0, second = 0, usual = 0;
    unsigned flags = 0;
    int value = 1, grid = 0;
    size_t bytes = 0;
    CHECK_CUDA(cudaStreamCreateWithPriority(&one, cudaStreamNonBlocking, 0));
    CHECK_CUDA(cudaStreamCreate(&two));
    CHECK_CUDA(cudaStreamGetFlags(one, &flags));
    CHECK_CUDA(cudaStreamGetPriority(one, &value));
    CHECK(flags == cudaStreamNonBlocking && value == 0);
    CHECK_CUDA(cudaStreamGetId(one, &first));
    CHECK_CUDA(cudaStreamGetId(two, &second));
    CHECK_CUDA(cudaStreamGetId(0, &usual));
    CHECK(first != second && usual != first && usual != second);
    CHECK_CUDA(cudaStreamGetDevice(one, &value));
    CHECK_CUDA(cudaEventCreate(&event));
    CHECK_CUDA(cudaEventRecordWithFlags(event, two, cudaEventRecordDefault));
    CHECK_CUDA(cudaEventDestroy(event));
    CHECK_CUDA(cudaStreamDestroy(one));
    CHECK_CUDA(cudaStreamDestroy(two));
    CHECK_CUDA(cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(&value, nothing, 128, 0, 0));
    CHECK(value == 16);
    // 228 KB, of which each block leaves 1 KB
    CHECK_CUDA(cudaOccupancyAvailableDynamicSMemPerBlock(&bytes, nothing, 2, 256));
    CHECK(bytes == 113 * 1024);
    CHECK(cudaOccupancyAvailableDynamicSMemPerBlock(&bytes, nothing, 3, 1024) ==
          cudaErrorInvalidValue);
    CHECK_CUDA(cudaOccupancyMaxPotentialBlockSizeVariableSMem(&grid, &value, nothing, four_bytes));
    CHECK(value == 1024 && grid == 264);
    cudaGetLastError();
}

__device__ int symbol;
__global__ void read_symbol(int* out) {
    *out = symbol;
}
static void asynchronous(void) {
    int seven = 7, back = 0, *p;
    CHECK_CUDA(cudaMalloc(&p, sizeof *p));
    CHECK_CUDA(cudaMemset2DAsync(p, 4, 0, 4, 1));
    CHECK_CUDA(cudaMemcpyToSymbolAsync(symbol, &seven, sizeof seven));
    read_symbol<<<1, 1>>>(p);
    CHECK_CUDA(cudaMemcpyFromSymbolAsync(&back, symbol, sizeof back));
    CHECK(back == 7);
    CHECK_CUDA(cudaMemcpy(&back, p, sizeof back, cudaMemcpyDeviceToHost));
    CHECK(back == 7);
    CHECK_CUDA(cudaFree(p));
}

// A box of 2 x 3 x 2 out of one of 5 x 4 x 3 bytes, to and fro.
static void boxes(void) {
    unsigned char host[3][4][5], back[3][4][5], *p = &host[0][0][0];
    for (int i = 0; i < 60; i++) p[i] = (unsigned char)i;
    cudaPitchedPtr box;
    CHECK_CUDA(cudaMalloc3D(&box, make_cudaExtent(5, 4, 3)));
    CHECK(box.pitch >= 5 && box.xsize == 5 && box.ysize == 4);
    CHECK_CUDA(cudaMemset3D(box, 9, make_cudaExtent(5, 4, 3)));
    cudaMemcpy3DParms to = {}, from = {};
    to.srcPtr = make_cudaPitchedPtr(host, 5, 5, 4);
    to.dstPtr = box;
    to.srcPos = to.dstPos = make_cudaPos(1, 1, 1);
    to.extent = make_cudaExtent(2, 3, 2);
    to.kind = cudaMemcpyHostToDevice;
    cudev_stats before, after;
    cudev_get_stats(&before);
    CHECK_CUDA(cudaMemcpy3D(&to));
    cudev_get_stats(&after);
    CHECK(after.bytes_to_device - before.bytes_to_device == 12);
    from.srcPtr = box;
    from.dstPtr = make_cudaPitchedPtr(back, 5, 5, 4);
    from.extent = make_cudaExtent(5, 4, 3);
    from.kind = cudaMemcpyDeviceToHost;
    CHECK_CUDA(cudaMemcpy3DAsync(&from));
    for (int z = 0; z < 3; z++)
        for (int y = 0; y < 4; y++)
            for (int x = 0; x < 5; x++) {
                bool inside = x >= 1 && x < 3 && y >= 1 && z >= 1;
                CHECK(back[z][y][x] == (inside ? host[z][y][x] : 9));
            }
    to.dstPos = make_cudaPos(1, 2, 1);  // a row too far: it would be one of the next layer
    CHECK(cudaMemcpy3D(&to) == cudaErrorInvalidValue);
    to.dstPos = make_cudaPos(box.pitch - 1, 1, 1);
    CHECK(cudaMemcpy3D(&to) == cudaErrorInvalidPitchValue);
    to.dstPos = make_cudaPos(1, 1, 2);  // a layer too far
    CHECK(cudaMemcpy3D(&to) == cudaErrorInvalidValue);
    to.dstPos = make_cudaPos(1, 1, 1);
    to.kind = cudaMemcpyDeviceToHost;
    CHECK(cudaMemcpy3D(&to) == cudaErrorInvalidValue);
    CHECK_CUDA(cudaFree(box.ptr));
    cudaGetLastError();
}

// A host function in a stream runs between what stands before and after it.
static int seen[3], calls;
static void look(void* data) {
    seen[calls++] = *(int*)data;
}
static void look_back(cudaStream_t, cudaError_t status, void* data) {
    if (status == cudaSuccess) look(data);
}
static void host_functions(void) {
    int *p, host = 0;
    float ms = -1;
    cudaStream_t stream;
    cudaEvent_t start, stop;
    CHECK_CUDA(cudaStreamCreate(&stream));
    CHECK_CUDA(cudaEventCreate(&start));
    CHECK_CUDA(cudaEventCreate(&stop));
    CHECK_CUDA(cudaMalloc(&p, sizeof *p));
    CHECK_CUDA(cudaEventRecord(start, stream));
    for (int n = 0; n < 3; n++) {
        CHECK_CUDA(cudaMemsetAsync(p, n + 1, 1, stream));
        CHECK_CUDA(cudaMemcpyAsync(&host, p, 1, cudaMemcpyDeviceToHost, stream));
        CHECK_CUDA(n < 2 ? cudaLaunchHostFunc(stream, look, &host)
                         : cudaStreamAddCallback(stream, look_back, &host, 0));
    }
    CHECK_CUDA(cudaEventRecord(stop, stream));
    CHECK_CUDA(cudaStreamSynchronize(stream));
    CHECK_CUDA(cudaEventElapsedTime(&ms, start, stop));
    CHECK(calls == 3 && seen[0] == 1 && seen[1] == 2 && seen[2] == 3 && ms >= 0);
    CHECK(cudaLaunchHostFunc(stream, NULL, &host) == cudaErrorInvalidValue);
    CHECK(cudaStreamAddCallback(stream, look_back, &host, 1) == cudaErrorInvalidValue);
    CHECK(calls == 3);
    CHECK_CUDA(cudaFree(p));
    CHECK_CUDA(cudaEventDestroy(start));
    CHECK_CUDA(cudaEventDestroy(stop));
    CHECK_CUDA(cudaStreamDestroy(stream));
    cudaGetLastError();
}

// Two arrays that this machine does not have.
static void few_bytes(void) {
    const size_t n = (size_t)100 << 30;
    char *p, *q, *end = (char*)calloc(1, CUDEV_END);
    cudev_run_few(CUDEV_ALL_BLOCKS, 1);
    CHECK_CUDA(cudaMalloc(&p, n));
    CHECK_CUDA(cudaMalloc(&q, n));
    CHECK_CUDA(cudaMemset(p, 7, n));
    set_last<<<9, 1>>>(p, n);
    CHECK_CUDA(cudaMemcpy(q, p, n, cudaMemcpyDeviceToDevice));
    CHECK_CUDA(cudaMemcpy(end, q + n - CUDEV_END, CUDEV_END, cudaMemcpyDeviceToHost));
    CHECK(end[0] == 7 && end[CUDEV_END - 2] == 7 && end[CUDEV_END - 1] == 8);
    CHECK_CUDA(cudaMemcpy(end, q + n / 2, CUDEV_END, cudaMemcpyDeviceToHost));
    CHECK(end[0] == 0);
    CHECK(cudaMemset(p, 7, n + 1) == cudaErrorInvalidValue);
    CHECK_CUDA(cudaFree(p));
    CHECK(cudaFree(p) == cudaErrorInvalidValue);
    CHECK_CUDA(cudaFree(q));
    cudev_run_few(CUDEV_ALL_BLOCKS, 0);
    cudaGetLastError();  // of the two calls that had to fail
    free(end);
}

int main(void) {
    forked();
    memory();
    many();
    mixed_blocks();
    shared_with_host();
    few_blocks();
    few_bytes();
    limits();
    time_and_device();
    settings();
    streams_and_occupancy();
    asynchronous();
    boxes();
    host_functions();
    cudev_stats stats;
    cudev_get_stats(&stats);
    CHECK(stats.launches > 200 && stats.bytes_to_host > 0 && stats.bytes_to_device > 0);
    return failures != 0;
}
