// One mistake per case; `diagnoses NAME` makes it. run.sh reads the CASE lines:
//   CASE name kind exit-code text...
// and expects exactly that kind from the hook and the text in the report, where @mark stands for
// "file:line" of the line with the comment "// @mark".
#include <assert.h>
#include <string.h>
#include "cudev.h"
#include "ptx.h"

extern "C" void cudev_on_error(const char* kind, unsigned, const char* text) {
    fprintf(stderr, "hook: %s, %s\n", kind,
            strncmp(text, "==CPU device== ERROR: ", 22) == 0 ? "ok" : "?");
}

static float* new_floats(int n) {
    float* p_gpu = NULL;
    cudaMalloc(&p_gpu, n * sizeof(float));  // @malloc
    return p_gpu;
}

// CASE inline_ptx unsupported 86 not on the CPU device: inline PTX at @inline_ptx, lessons/ptx.h lists what there is
// CASE inline_ptx unsupported 86 kernel inline_ptx<<<(1,1,1), (32,1,1)>>> launched at
__global__ void inline_ptx(int n) {
    int sum = n;
    asm volatile("add.s32 %0, %1, %2;" : "=r"(sum) : "r"(n), "r"(1));  // @inline_ptx
    printf("%d\n", sum);
}

// CASE divergence barrier_divergence 86 thread (16,0,0) reached __syncthreads() at @else while 16 threads wait at @then
// CASE divergence barrier_divergence 86 16 threads (first: (0,0,0)) waiting in __syncthreads() at @then
// CASE divergence barrier_divergence 86 15 threads (first: (17,0,0)) not yet started
// CASE divergence barrier_divergence 86 kernel diverge<<<(2,1,1), (32,1,1)>>> launched at @diverge_launch, block (0,0,0)
__global__ void diverge(float* p) {
    if (threadIdx.x < 16)
        __syncthreads();  // @then
    else
        __syncthreads();  // @else
}

// CASE exited exited_threads 86 36 threads wait at __syncthreads() (@exited) but 28 have already returned
// CASE exited exited_threads 86 28 threads (first: (36,0,0)) returned from the kernel
__global__ void exited(int n) {
    if (threadIdx.x >= n) return;
    __syncthreads();  // @exited
}

// CASE exited_first exited_threads 86 63 threads wait at __syncthreads_or() (@exited_first) but 1 has already
__global__ void exited_first() {
    if (threadIdx.x == 0) return;
    __syncthreads_or(1);  // @exited_first
}

// CASE not_in_mask bad_mask 86 thread (4,0,0) (lane 4) calls __shfl_sync() at @not_in_mask with the mask 0x0000000f, which does not name its own lane
__global__ void not_in_mask() {
    __shfl_sync(0xf, 1, 0);  // @not_in_mask
}

// CASE lane_returned bad_mask 86 (lane 0) calls __shfl_down_sync() at @lane_returned with the mask 0xffffffff, but lane 20 has already returned
__global__ void lane_returned(float* p) {
    if (threadIdx.x >= 20) return;
    p[threadIdx.x] = __shfl_down_sync(0xffffffff, 1.0f, 1);  // @lane_returned
}

// CASE lane_elsewhere bad_mask 86 waits in __ballot_sync() at @ballot with the mask 0xffffffff, which names lane 8, but that lane waits in __syncthreads() at @not_ballot
__global__ void lane_elsewhere() {
    if (threadIdx.x < 8) __ballot_sync(0xffffffff, 1);  // @ballot
    __syncthreads();                                    // @not_ballot
}

// CASE two_calls bad_mask 86 thread (0,0,0) in __shfl_xor_sync() at @call_one, thread (8,0,0) in __shfl_xor_sync() at @call_two
__global__ void two_calls(int* p) {
    if (threadIdx.x < 8)
        p[0] = __shfl_xor_sync(0xffffffff, 1, 1);  // @call_one
    else
        p[1] = __shfl_xor_sync(0xffffffff, 1, 1);  // @call_two
}

// CASE width bad_mask 86 __shfl_sync() at @width has width 20
__global__ void width() {
    __shfl_sync(0xffffffff, 1, 0, 20);  // @width
}

// CASE deadlock deadlock 86 8 threads (first: (0,0,0)) waiting in __syncwarp() at @syncwarp
// CASE deadlock deadlock 86 24 threads (first: (8,0,0)) waiting in __syncthreads() at @not_syncwarp
__global__ void deadlock() {
    if (threadIdx.x < 8) __syncwarp();  // @syncwarp
    __syncthreads();                    // @not_syncwarp
}

// CASE endless endless_loop 87 at @endless in endless(
// CASE endless endless_loop 87 still running after 0.2 s
// CASE endless endless_loop 87 2 threads (first: (0,0,0)) returned from the kernel
__global__ void endless(float* p, int start) {
    if (threadIdx.x < 2) return;
    volatile float* q = p;
    for (int i = start; i != 1; i += 2) *q = (float)i;  // @endless
}

__global__ void endless_yield(int* p) {
    while (atomicAdd(p, 0) != 12345) continue;  // @endless_yield
}

// CASE null bad_address 88 bad address 0 in thread (3,0,0): a NULL pointer
// CASE null bad_address 88 at @bad_address in write_at(
// CASE wild bad_address 88 at @bad_address in write_at(
// CASE far bad_address 88 in thread (3,0,0): 4193904 bytes past the 400 bytes cudaMalloc'ed at @malloc
__global__ void write_at(float* p, long long i) {
    if (threadIdx.x == 3) p[i] = 1.0f;  // @bad_address
}

// CASE division divided_by_zero 88 integer division by zero in thread (0,0,0)
// CASE division divided_by_zero 88 at @division in division(
__global__ void division(int* p, int n) {
    p[0] = 10 / n;  // @division
}

// CASE overflow stack_overflow 88 stack overflow in thread (1,0,0)
// CASE overflow stack_overflow 88 deep(
__device__ __attribute__((noinline)) int deep(int n) {
    volatile char room[1000];
    room[n % 1000] = 1;
    return n == 0 ? 0 : deep(n - 1) + room[n % 1000];
}
__global__ void overflow(int* p, int n) {
    __syncthreads();
    if (threadIdx.x == 1) *p = deep(n);
}

// CASE past_end out_of_bounds 86 out-of-bounds write past the end: byte 400 of the 400 bytes cudaMalloc'ed at @malloc was overwritten, found after the kernel
// CASE past_end out_of_bounds 86 kernel write_all<<<
// CASE named_end out_of_bounds 86 write past the end: byte 300 of the 200 bytes of out was overwritten
// CASE before_start out_of_bounds 86 write before the start: byte -4 of the 400 bytes
__global__ void write_all(float* p, int from, int to) {
    for (int i = from; i < to; i++) p[i] = 1.0f;
}

// CASE at_exit out_of_bounds 86 byte 40 of the 40 bytes of cudaMallocManaged number 2 was overwritten, found at the end of the program
// CASE at_free out_of_bounds 86 found when it was freed

// CASE shared_end out_of_bounds 86 byte 0 past the end of __shared__ tile (128 bytes, @tile)
__global__ void shared_end(int n) {
    __shared__ float tile[32];  // @tile
    volatile float* p = tile;
    p[n] = 1.0f;
}

// CASE dynamic_end out_of_bounds 86 past the end of the dynamic shared memory (64 bytes
__global__ void dynamic_end(int n) {
    extern __shared__ float dynamic[];
    volatile float* p = dynamic;
    p[n] = 1.0f;
}

// CASE static_limit shared_memory 86 __shared__ b (@too_much) brings the block to 49156 static + 0 dynamic bytes; the limit is 49152
__global__ void static_limit() {
    __shared__ char a[48 * 1024];
    __shared__ int b;  // @too_much
    a[b & 1] = 0;
}

// CASE bounds bad_launch 86 a block of 96 threads: the kernel's __launch_bounds__ say 64 at most
// CASE bounds_of_template bad_launch 86 a block of 96 threads: the kernel's __launch_bounds__ say 32 at most
enum { most = 32 };
#define TWICE (2 * most)
template <int n> __global__ void __launch_bounds__((n), 2) bounded(int) {}
__global__ void __launch_bounds__(TWICE, 2) bounds(int);
__global__ void __launch_bounds__(TWICE, 2) bounds(int) {}
#undef TWICE
#define TWICE 96
// The bounds name a parameter here: nothing is asked.
__global__ void __launch_bounds__(most) bounds_unknown(int most) {}

static void within_bounds(void) {
    bounded<96><<<1, dim3(32, 3)>>>(0);
    bounds<<<1, 64>>>(0);
    bounds_unknown<<<1, 32>>>(1);
    cudaDeviceSynchronize();
}

// The compiler must not take a kernel that does nothing but this for one that does nothing.
// CASE only_null bad_address 88 bad address 0 in thread (0,0,0): a NULL pointer
// CASE only_null bad_address 88 at @only_null in only_null(
// CASE only_null_write bad_address 88 at @only_null_write in only_null_write(
__global__ void only_null() {
    *(volatile int*)0 = 1;  // @only_null
}
__global__ void only_null_write(const float* p) {
    float* q = NULL;
    *q = p[0];  // @only_null_write
}

// CASE assertion assert 86 assertion `threadIdx.x < 7' failed at @assert
// CASE assertion assert 86 in thread (7,0,0)
__global__ void assertion() {
    assert(threadIdx.x < 7);  // @assert
}

// CASE trap assert 86 __trap() at @trap in thread (1,0,0)
// CASE freed_twice assert 86 cudaFree at @freed_twice: cudaErrorInvalidValue: double free: the 400 bytes allocated at @malloc were freed before
__global__ void trap() {
    if (threadIdx.x == 1) __trap();  // @trap
}

// CASE host_read host_access 86 host code touches device memory: byte 8 of the 400 bytes cudaMalloc'ed at @malloc
// CASE host_read host_access 86 at @host_read
// CASE host_memcpy host_access 86 at @host_memcpy
// CASE host_write host_access 86 at @host_write

// CASE host_array stack_overflow 86 stack overflow in host code: more than
// CASE host_array stack_overflow 86 at @host_array in large_array(
// CASE host_recursion stack_overflow 86 next: is there a large local array, or a function that calls itself?
// CASE host_recursion stack_overflow 86 in sum_to(
static __attribute__((noinline)) int large_array(int n) {
    volatile int numbers[16 << 20];
    for (int i = 0; i < 16 << 20; i++) numbers[i] = n;  // @host_array
    return numbers[n];
}
static __attribute__((noinline)) int sum_to(volatile int* n) {
    volatile int here[100] = {*n};
    return *n < 0 ? 0 : here[0] + sum_to(here) + here[1];
}

// CASE malloced host_pointer 86 argument 1 of write_all at @malloced
// CASE on_stack host_pointer 86 argument 1 of write_all at @on_stack
// CASE global host_pointer 86 argument 1 of write_all at @global
// CASE freed_first host_pointer 86 argument 1 of write_all at @freed_first
static float host_array[100];

// CASE printed assert 86 thread 0 before
__global__ void printed() {
    printf("thread %d before\n", threadIdx.x);
    assert(threadIdx.x == 0);
}

// CASE named_deadlock deadlock 86 32 threads (first: (32,0,0)) waiting in named_sync(3, 64) at @named_wait
// CASE named_deadlock deadlock 86 32 threads (first: (0,0,0)) waiting in __syncthreads() at @named_other
// CASE named_deadlock deadlock 86 named barrier 3: 32 of 64 threads have come, the first ((32,0,0)) at @named_wait
__global__ void named_deadlock() {
    if (threadIdx.x >= 32) named_sync(3, 64);  // @named_wait
    __syncthreads();                           // @named_other
}

// CASE named_nobody deadlock 86 threads arrive at named barrier 4, where nobody has waited, at @named_four
__global__ void named_nobody() {
    if (threadIdx.x < 32)
        named_arrive(4, 64);  // @named_four
    else
        named_sync(3, 64);
}

// CASE named_exited deadlock 86 (some have already returned)
__global__ void named_exited() {
    if (threadIdx.x >= 32) named_sync(3, 64);
}

// CASE named_counts bad_barrier 86 named barrier 1: thread (32,0,0) comes to it for 96 threads at @count_of_three, thread (0,0,0) has come for 64 at @count_of_two
__global__ void named_counts() {
    if (threadIdx.x < 32)
        named_arrive(1, 64);  // @count_of_two
    else
        named_sync(1, 96);  // @count_of_three
}

// CASE named_33 bad_barrier 86 named barrier 1 is to open for 33 threads (@named_any), in a block of 64
// CASE named_0 bad_barrier 86 there is no named barrier 0 (@named_any)
// CASE named_16 bad_barrier 86 there is no named barrier 16 (@named_any)
// CASE named_128 bad_barrier 86 named barrier 1 is to open for 128 threads (@named_any), in a block of 64
__global__ void named_any(int id, int threads) {
    named_sync(id, threads);  // @named_any
}

// CASE named_half diverged_warp 86 waits in named_sync(1, 32) at @half for all lanes of its warp, but lane 16 waits in __syncthreads() at @other_half
__global__ void named_half() {
    if (threadIdx.x < 16) named_sync(1, 32);  // @half
    __syncthreads();                          // @other_half
}

// CASE named_two_calls diverged_warp 86 thread (0,0,0) in named_sync(1, 64) at @named_one, thread (16,0,0) in named_sync(1, 64) at @named_two
__global__ void named_two_calls() {
    if (threadIdx.x < 16)
        named_sync(1, 64);  // @named_one
    else
        named_sync(1, 64);  // @named_two
}

// CASE named_two_numbers diverged_warp 86 thread (0,0,0) in named_sync(1, 32) at @named_lane, thread (1,0,0) in named_sync(2, 32) at @named_lane
__global__ void named_two_numbers() {
    named_sync(1 + threadIdx.x, 32);  // @named_lane
}

// CASE copy_swapped bad_address 86 cp_async4() writes to 0x
// CASE copy_swapped bad_address 86 which is not shared memory (byte 0 of the 400 bytes cudaMalloc'ed at @malloc), at @copy_swapped in thread (0,0,0)
__global__ void copy_swapped(float* p) {
    __shared__ float s[4];
    cp_async4(p, s);  // @copy_swapped
}

// CASE copy_shared bad_address 86 which is not global memory (not device memory), at @copy_from
// CASE copy_local bad_address 86 which is not global memory (not device memory), at @copy_from
// CASE copy_null bad_address 86 which is not global memory (a NULL pointer), at @copy_from
// CASE copy_wild out_of_bounds 86 which is not global memory
// CASE copy_odd misaligned 86 cp_async16() reads from global memory, an address that is no multiple of 16, at @copy_from
__global__ void copy_from(const float* p, int which) {
    __shared__ __align__(16) float s[8];
    float local[4] = {0.0f, 0.0f, 0.0f, 0.0f};
    const float* from = which == 0 ? p : which == 1 ? &s[4] : local;
    cp_async16(s, from);  // @copy_from
}

// CASE copy_odd_target misaligned 86 cp_async8() writes to shared memory, an address that is no multiple of 8, at
__global__ void copy_odd_target(const float* p) {
    extern __shared__ float copied_dynamic[];
    cp_async8(&copied_dynamic[33], p);
}

// CASE copy_too_much bad_address 86 cp_async16() is to take 17 bytes of 16 at
// CASE copy_negative bad_address 86 cp_async16() is to take -4 bytes of 16 at
__global__ void copy_part(const float* p, int used) {
    __shared__ __align__(16) float s[4];
    cp_async16_zfill(s, p, used);
}

// CASE copy_past_end out_of_bounds 86 byte 0 past the end of __shared__ copied (16 bytes
__global__ void copy_past_end(const float* p) {
    __shared__ __align__(16) float copied[4];
    cp_async16(copied + 4, p);
    cp_async_wait_all();
}

// CASE mma_half diverged_warp 86 thread (0,0,0) waits in mma_m16n8k16_bf16() at @mma_half for all lanes of its warp, but lane 16 waits in __syncthreads()
__global__ void mma_half() {
    unsigned a[4] = {0, 0, 0, 0}, b[2] = {0, 0};
    float d[4] = {0.0f, 0.0f, 0.0f, 0.0f};
    if (threadIdx.x < 16) mma_m16n8k16_bf16(d, a, b);  // @mma_half
    __syncthreads();
}

// CASE matrix_exited diverged_warp 86 calls ldmatrix_x2() at @matrix_row, which needs all 32 lanes, but lane 31 has already returned from the kernel
// CASE matrix_few_lanes diverged_warp 86 calls ldmatrix_x2() at @matrix_row, which needs all 32 lanes, but lane 20 does not exist in this block
// CASE matrix_odd misaligned 86 ldmatrix_x2() at @matrix_row: the row of thread (1,0,0) starts at 0x
// CASE matrix_global bad_address 86 ldmatrix_x2() at @matrix_row: the row of thread (0,0,0) is at 0x
// CASE matrix_global bad_address 86 which is not shared memory (byte 0 of the 400 bytes cudaMalloc'ed at @malloc)
__global__ void matrix_rows(const float* p, int step, int lanes) {
    __shared__ __align__(16) float s[512];
    unsigned r[2];
    if (threadIdx.x >= lanes) return;
    ldmatrix_x2(r, (p ? p : s) + step * threadIdx.x);  // @matrix_row
}

// A kernel that is launched by a call has its name, too.
// CASE by_call assert 86 kernel assertion<<<(1,1,1), (32,1,1)>>> launched at @by_call
// CASE by_config assert 86 kernel assertion<<<(1,1,1), (32,1,1)>>> launched at @by_config
// CASE by_plain_name assert 86 kernel assertion<<<(1,1,1), (32,1,1)>>> launched at @by_plain_name

int main(int argc, char** argv) {
    const char* name = argc > 1 ? argv[1] : "";
    float* p = new_floats(100);
    if (!strcmp(name, "divergence")) diverge<<<2, 32>>>(p);  // @diverge_launch
    if (!strcmp(name, "exited")) exited<<<1, 64>>>(36);
    if (!strcmp(name, "exited_first")) exited_first<<<1, 64>>>();
    if (!strcmp(name, "not_in_mask")) not_in_mask<<<1, 32>>>();
    if (!strcmp(name, "lane_returned")) lane_returned<<<1, 32>>>(p);
    if (!strcmp(name, "lane_elsewhere")) lane_elsewhere<<<1, 32>>>();
    if (!strcmp(name, "two_calls")) two_calls<<<1, 32>>>((int*)p);
    if (!strcmp(name, "width")) width<<<1, 32>>>();
    if (!strcmp(name, "deadlock")) deadlock<<<1, 32>>>();
    if (!strcmp(name, "endless")) endless<<<1, 4>>>(p, 0);
    if (!strcmp(name, "endless_yield")) endless_yield<<<1, 64>>>((int*)p);
    if (!strcmp(name, "inline_ptx")) inline_ptx<<<1, 32>>>(argc);
    if (!strcmp(name, "null")) write_at<<<1, 32>>>(NULL, 0);
    if (!strcmp(name, "wild")) write_at<<<1, 32>>>(p, 1ll << 33);
    if (!strcmp(name, "far")) write_at<<<1, 32>>>(p, 1 << 20);
    if (!strcmp(name, "division")) division<<<1, 1>>>((int*)p, 0);
    if (!strcmp(name, "overflow")) overflow<<<1, 2>>>((int*)p, 1000000);
    if (!strcmp(name, "past_end")) write_all<<<1, 1>>>(p, 0, 101);
    if (!strcmp(name, "named_end")) {
        cudev_name_allocation(p + 25, 200, "out");
        write_all<<<1, 1>>>(p, 0, 101);
    }
    if (!strcmp(name, "before_start")) write_all<<<1, 1>>>(p, -1, 1);
    if (!strcmp(name, "shared_end")) shared_end<<<1, 1>>>(32);
    if (!strcmp(name, "dynamic_end")) dynamic_end<<<1, 1, 64>>>(17);
    if (!strcmp(name, "static_limit")) static_limit<<<1, 1>>>();
    if (!strncmp(name, "bounds", 6)) within_bounds();
    if (!strcmp(name, "bounds")) bounds<<<1, TWICE>>>(0);
    if (!strcmp(name, "bounds_of_template")) bounded<32><<<1, dim3(32, 3)>>>(0);
    if (!strcmp(name, "assertion")) assertion<<<1, 32>>>();
    if (!strcmp(name, "only_null")) only_null<<<1, 32>>>();
    if (!strcmp(name, "only_null_write")) only_null_write<<<1, 32>>>(p);
    void* none[1] = {};
    cudaLaunchConfig_t config = {};
    config.gridDim = 1, config.blockDim = 32;
    if (!strcmp(name, "by_call"))
        cudaLaunchKernel((const void*)assertion, dim3(1), dim3(32), none, 0, 0);   // @by_call
    if (!strcmp(name, "by_plain_name")) cudaLaunchKernel(assertion, 1, 32, none);  // @by_plain_name
    if (!strcmp(name, "by_config"))
        cudaLaunchKernelExC(&config, (void*)assertion, none);  // @by_config
    if (!strcmp(name, "trap")) trap<<<1, 32>>>();
    if (!strcmp(name, "freed_twice")) {
        cudaFree(p);
        cudaFree(p);  // @freed_twice
        trap<<<1, 32>>>();
    }
    if (!strcmp(name, "host_read")) printf("%f\n", p[2]);                         // @host_read
    if (!strcmp(name, "host_write")) p[0] = 1.0f;                                 // @host_write
    if (!strcmp(name, "host_memcpy")) memcpy(p, host_array, argc * 200);          // @host_memcpy
    if (!strcmp(name, "malloced")) write_all<<<1, 1>>>((float*)malloc(4), 0, 1);  // @malloced
    if (!strcmp(name, "on_stack")) write_all<<<1, 1>>>((float*)&argc, 0, 1);      // @on_stack
    if (!strcmp(name, "global")) write_all<<<1, 1>>>(host_array, 0, 1);           // @global
    if (!strcmp(name, "host_array")) return large_array(argc);
    if (!strcmp(name, "host_recursion")) return sum_to(&argc);
    if (!strcmp(name, "named_deadlock")) named_deadlock<<<1, 64>>>();
    if (!strcmp(name, "named_nobody")) named_nobody<<<1, 64>>>();
    if (!strcmp(name, "named_exited")) named_exited<<<1, 64>>>();
    if (!strcmp(name, "named_counts")) named_counts<<<1, 96>>>();
    if (!strcmp(name, "named_33")) named_any<<<1, 64>>>(1, 33);
    if (!strcmp(name, "named_0")) named_any<<<1, 64>>>(0, 64);
    if (!strcmp(name, "named_16")) named_any<<<1, 64>>>(16, 64);
    if (!strcmp(name, "named_128")) named_any<<<1, 64>>>(1, 128);
    if (!strcmp(name, "named_half")) named_half<<<1, 32>>>();
    if (!strcmp(name, "named_two_calls")) named_two_calls<<<1, 64>>>();
    if (!strcmp(name, "named_two_numbers")) named_two_numbers<<<1, 32>>>();
    if (!strcmp(name, "copy_swapped")) copy_swapped<<<1, 1>>>(p);
    if (!strcmp(name, "copy_shared")) copy_from<<<1, 1>>>(p, 1);
    if (!strcmp(name, "copy_local")) copy_from<<<1, 1>>>(p, 2);
    if (!strcmp(name, "copy_null")) copy_from<<<1, 1>>>(NULL, 0);
    if (!strcmp(name, "copy_wild")) copy_from<<<1, 1>>>(p + (1 << 28), 0);
    if (!strcmp(name, "copy_odd")) copy_from<<<1, 1>>>(p + 1, 0);
    if (!strcmp(name, "copy_odd_target")) copy_odd_target<<<1, 1, 200>>>(p);
    if (!strcmp(name, "copy_too_much")) copy_part<<<1, 1>>>(p, 17);
    if (!strcmp(name, "copy_negative")) copy_part<<<1, 1>>>(p, -4);
    if (!strcmp(name, "copy_past_end")) copy_past_end<<<1, 1>>>(p);
    if (!strcmp(name, "mma_half")) mma_half<<<1, 32>>>();
    if (!strcmp(name, "matrix_exited")) matrix_rows<<<1, 32>>>(NULL, 4, 31);
    if (!strcmp(name, "matrix_few_lanes")) matrix_rows<<<1, 20>>>(NULL, 4, 32);
    if (!strcmp(name, "matrix_odd")) matrix_rows<<<1, 32>>>(NULL, 5, 32);
    if (!strcmp(name, "matrix_global")) matrix_rows<<<1, 32>>>(p, 4, 32);
    if (!strcmp(name, "printed")) printed<<<1, 2>>>();
    if (!strcmp(name, "at_exit") || !strcmp(name, "at_free")) {
        float* managed;
        cudaMallocManaged(&managed, 40);
        managed[10] = 1.0f;
        if (!strcmp(name, "at_free")) cudaFree(managed);
    }
    if (!strcmp(name, "freed_first")) {
        float* pinned;
        cudaMallocHost(&pinned, 40);
        cudaFreeHost(pinned);
        write_all<<<1, 1>>>(pinned, 0, 1);  // @freed_first
    }
    return 0;
}
