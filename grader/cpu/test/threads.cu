// Threads that work together: barriers, warp functions, atomics; and kernels that must not be
// mistaken for wrong ones.
#include "test.h"

__global__ void barriers(int* out) {
    int i = threadIdx.x;
    __shared__ int ring[96];
    ring[i] = i;
    for (int round = 0; round < 50; round++) {
        __syncthreads();
        int next = ring[(i + 1) % 96];
        __syncthreads();
        ring[i] = next;
    }
    int count = __syncthreads_count(i % 3 == 0);
    int all = __syncthreads_and(i < 96), none = __syncthreads_and(i < 95);
    int any = __syncthreads_or(i == 95), never = __syncthreads_or(i == 96);
    out[i] = ring[i] == (i + 50) % 96 && count == 32 && all && !none && any && !never;
}

__global__ void shuffles(int* out) {
    int lane = threadIdx.x % 32, bad = 0;
    const unsigned full = 0xffffffff;
    bad += __shfl_sync(full, lane, 5) != 5;
    bad += __shfl_sync(full, lane, lane + 33) != (lane + 1) % 32;
    bad += __shfl_sync(full, lane, 3, 8) != lane / 8 * 8 + 3;
    bad += __shfl_up_sync(full, lane, 4) != (lane < 4 ? lane : lane - 4);
    bad += __shfl_down_sync(full, lane, 3, 16) != (lane % 16 < 13 ? lane + 3 : lane);
    bad += __shfl_xor_sync(full, lane, 9) != (lane ^ 9);
    bad += __shfl_xor_sync(full, 0.5 * lane, 16) != 0.5 * (lane ^ 16);
    bad += __shfl_sync(full, 1ull << lane << 20, 31) != 1ull << 51;
    float sum = (float)lane;
    for (int d = 16; d > 0; d /= 2) sum += __shfl_xor_sync(full, sum, d);
    bad += sum != 496.0f;
    if (lane < 16)  // two groups of one warp at the same time, each on its own line
        bad += __shfl_xor_sync(0x0000ffff, lane, 1) != (lane ^ 1);
    else
        bad += __shfl_xor_sync(0xffff0000, lane, 2) != (lane ^ 2);
    out[threadIdx.x] = bad;
}

__global__ void votes(int* out) {
    int lane = threadIdx.x % 32, bad = 0;
    const unsigned full = 0xffffffff, low = 0xff;
    bad += __ballot_sync(full, lane % 2) != 0xaaaaaaaa;
    bad += !__any_sync(full, lane == 7) || __any_sync(full, 0);
    bad += !__all_sync(full, 1) || __all_sync(full, lane != 7);
    bad += __match_any_sync(full, lane / 8) != low << lane / 8 * 8;
    int same;
    bad += __match_all_sync(full, 3.5f, &same) != full || !same;
    bad += __match_all_sync(full, lane, &same) != 0 || same;
    bad += __reduce_add_sync(full, lane) != 496 || __reduce_max_sync(full, -lane) != 0;
    bad += __reduce_min_sync(full, -lane) != -31 || __reduce_max_sync(full, 1u << lane) != 1u << 31;
    bad += __reduce_or_sync(full, 1u << lane) != full || __reduce_xor_sync(full, 5u) != 0;
    if (lane < 8) {
        bad += __activemask() != low;
        bad += __ballot_sync(__activemask(), 1) != low;
        __syncwarp(low);
    } else {
        bad += __activemask() != ~low;
    }
    __syncwarp();
    // the other lanes wait for these at the next call, before they ask
    if (lane & 1) bad += __activemask() != 0xaaaaaaaa;
    __syncwarp();
    if (lane & 2) bad += __activemask() != 0xcccccccc;
    bad += __ballot_sync(full, lane & 1) != 0xaaaaaaaa;
    out[threadIdx.x] = bad;
}

// The last warp is not full; lanes that do not exist take no part.
__global__ void short_warp(int* out) {
    unsigned lanes = __ballot_sync(0xffffffff, 1);
    __syncwarp();
    out[threadIdx.x] = lanes != (threadIdx.x < 32 ? 0xffffffff : 0xff);
}

// Votes and __syncwarp ignore lanes that have returned.
__global__ void early_return(int* out) {
    if (threadIdx.x % 32 >= 20) return;
    __syncwarp();
    out[threadIdx.x] = __ballot_sync(0xffffffff, 1) != 0xfffff;
}

__global__ void atomics(int* sum, unsigned* ring, float* real, unsigned long long* wide,
                        int* bits) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    atomicAdd(sum, 1);
    atomicAdd(real, 0.5f);
    atomicAdd(wide, 1ull << 32);
    atomicMax(&sum[1], i);
    atomicMin(&sum[2], -i);
    atomicInc(&ring[0], 9);
    atomicDec(&ring[1], 9);
    atomicOr(&bits[0], 1 << i % 31);
    atomicXor(&bits[1], i);
    if (atomicCAS(&sum[3], 0, i + 1) == 0) atomicSub(&sum[4], i);
    if (atomicExch(&bits[2], 1) == 0) atomicAdd(&bits[3], 1);
}

// Thread 0 waits for thread 64, which starts after it.
__global__ void hand_over(int* flag, int* out) {
    if (threadIdx.x == 0) {
        while (atomicAdd(flag, 0) == 0) {
        }
        *out = 1;
    } else if (threadIdx.x == 64) {
        atomicExch(flag, 1);
    } else if (threadIdx.x == 65) {
        while (*(volatile int*)flag == 0) __nanosleep(100);
    }
}

// A lock around a plain counter, taken by all threads of all blocks in turn.
__global__ void locked(int* lock, int* count) {
    while (atomicCAS(lock, 0, 1) != 0) {
    }
    __threadfence();
    *count = *count + 1;
    __threadfence();
    atomicExch(lock, 0);
}

// The block that finishes last adds the partial sums.
__global__ void last_block(const int* in, int* partial, unsigned* done, int* out) {
    __shared__ bool last;
    int i = blockIdx.x * blockDim.x + threadIdx.x, sum = in[i];
    for (int d = 16; d > 0; d /= 2) sum += __shfl_down_sync(0xffffffff, sum, d);
    if (threadIdx.x == 0) {
        partial[blockIdx.x] = sum;
        __threadfence();
        last = atomicAdd(done, 1) == gridDim.x - 1;
    }
    __syncthreads();
    if (!last || threadIdx.x != 0) return;
    *out = 0;
    for (unsigned b = 0; b < gridDim.x; b++) *out += ((volatile int*)partial)[b];
}

__global__ void returns_early(int* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    out[i] = 1;
}

// Warps of one block in different phases, each with its own functions.
// Warp 0 doubles its distance each time: lane i ends with the value of lane i + 2^100 - 1.
__global__ void roles(int* out) {
    int warp = threadIdx.x / 32, value = threadIdx.x % 32;
    if (warp == 0)
        for (int k = 0; k < 100; k++) value = __shfl_sync(0xffffffff, value, (value + 1) % 32);
    else if (warp == 1)
        for (int k = 0; k < 10; k++) __syncwarp();
    __syncthreads();
    if (warp < 2) out[threadIdx.x] = warp == 0 ? value != (threadIdx.x + 31) % 32 : 0;
}

static int nonzero(const int* p_gpu, int n) {
    int count = 0;
    for (int i = 0; i < n; i++) count += int_at(p_gpu, i) != 0;
    return count;
}

// A thread finds nothing of an earlier one in variables that have no value, however many there are,
// whether the earlier one has ended or was in another block.
#define UNSET(type, name) type name
template <int n> struct kept {
    float x[n];
    __device__ kept() {}
};
template <int n> __global__ void dead_frames(int* out, bool waits) {
    volatile kept<n> k;
    UNSET(volatile float, array)[n];
    int t = threadIdx.x, found = 0;
    if (waits) __syncthreads();
    for (int i = 0; i < n; i++) found += k.x[i] == 7.0f || array[i] == 7.0f;
    for (int i = 0; i < n; i++) k.x[i] = array[i] = 7.0f;
    if (waits) __syncthreads();
    out[blockIdx.x * blockDim.x + t] = found;
}
template <int n> static void test_dead_frames(bool waits) {
    int* found = new_ints(4 * 64, 1);
    dead_frames<n><<<4, 64>>>(found, waits);
    for (int i = 0; i < 4 * 64; i++) CHECK(int_at(found, i) == 0);
    CHECK_CUDA(cudaFree(found));
}

int main(void) {
    int* out = new_ints(4096, 0);
    barriers<<<3, 96>>>(out);
    CHECK(nonzero(out, 96) == 96);
    shuffles<<<2, 64>>>(out);
    CHECK(nonzero(out, 64) == 0);
    votes<<<2, 64>>>(out);
    CHECK(nonzero(out, 64) == 0);
    short_warp<<<2, 40>>>(out);
    CHECK(nonzero(out, 40) == 0);
    early_return<<<2, 64>>>(out);
    CHECK(nonzero(out, 64) == 0);
    roles<<<2, 96>>>(out);
    CHECK(nonzero(out, 64) == 0);

    int *sum = new_ints(5, 0), *bits = new_ints(4, 0), *ring = new_ints(2, 0),
        *wide = new_ints(2, 0);
    int* real = new_ints(1, 0);
    atomics<<<10, 100>>>(sum, (unsigned*)ring, (float*)real, (unsigned long long*)wide, bits);
    CHECK(int_at(sum, 0) == 1000 && int_at(sum, 1) == 999 && int_at(sum, 2) == -999);
    CHECK(int_at(sum, 3) - 1 == -int_at(sum, 4));
    CHECK(int_at(ring, 0) == 0 && int_at(ring, 1) == 0 && int_at(wide, 1) == 1000);
    CHECK(int_at(real, 0) == 0x43fa0000 && int_at(bits, 0) == 0x7fffffff);
    CHECK(int_at(bits, 1) == 0 && int_at(bits, 3) == 1);

    int *flag = new_ints(1, 0), *count = new_ints(1, 0);
    hand_over<<<1, 128>>>(flag, out);
    CHECK(int_at(out, 0) == 1);
    cudaMemset(flag, 0, sizeof(int));
    locked<<<8, 64>>>(flag, count);
    CHECK(int_at(count, 0) == 512);
    int* ones = new_ints(64 * 32, 1);
    cudaMemset(flag, 0, sizeof(int));
    last_block<<<64, 32>>>(ones, out, (unsigned*)flag, count);
    CHECK(int_at(count, 0) == 2048);
    cudaMemset(out, 0, 4096 * sizeof(int));
    returns_early<<<16, 256>>>(out, 4000);
    CHECK(nonzero(out, 4096) == 4000);
    CHECK(cudaGetLastError() == cudaSuccess);
    test_dead_frames<4>(false);
    test_dead_frames<300>(false);
    test_dead_frames<3000>(false);
    test_dead_frames<4>(true);
    test_dead_frames<100>(true);
    return failures != 0;
}
