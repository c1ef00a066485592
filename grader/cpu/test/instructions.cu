// The instructions of ptx.h in the plain build: what they do, and that a mistake shows in the numbers.
#include "ptx.h"
#include "test.h"
#include "cudev.h"

enum { NEVER = -1 };  // 0xFF in every byte: what has not arrived

// ---- cp.async ----

enum { NOTHING, COMMIT_ONLY, WAIT_1, WAIT_0, NOT_COMMITTED, WAIT_ALL };

// Two groups of a word each, and then one of the ways to wait.
__global__ void two_groups(int* out, const int* in, int way) {
    __shared__ int s[2];
    s[0] = s[1] = 5;
    cp_async4(&s[0], &in[0]);
    if (way != NOT_COMMITTED) cp_async_commit();
    cp_async4(&s[1], &in[1]);
    if (way != NOTHING && way != NOT_COMMITTED) cp_async_commit();
    if (way == WAIT_1) cp_async_wait<1>();
    if (way == WAIT_0 || way == NOT_COMMITTED) cp_async_wait<0>();
    if (way == WAIT_ALL) cp_async_wait_all();
    out[0] = s[0];
    out[1] = s[1];
}

static void check_groups(const int* in_gpu) {
    static const struct {
        int way, first, second;
    } cases[] = {{NOTHING, NEVER, NEVER}, {COMMIT_ONLY, NEVER, NEVER},   {WAIT_1, 100, NEVER},
                 {WAIT_0, 100, 101},      {NOT_COMMITTED, NEVER, NEVER}, {WAIT_ALL, 100, 101}};
    for (const auto& c : cases) {
        int* out_gpu = new_ints(2, 0);
        two_groups<<<1, 1>>>(out_gpu, in_gpu, c.way);
        CHECK(int_at(out_gpu, 0) == c.first);
        CHECK(int_at(out_gpu, 1) == c.second);
    }
}

// The bytes are those that the source has when they arrive, and the rest is zero.
__global__ void parts(int* out, int* in) {
    __shared__ __align__(16) int s[3][4];
    cp_async16_zfill(s[0], in, 8);
    cp_async16_zfill(s[1], NULL, 0);
    cp_async8_zfill(s[2], in + 2, 4);
    cp_async4_zfill(s[2] + 2, in, 3);
    cp_async4_zfill(s[2] + 3, in, 0);
    in[0] = 0x12345678;
    cp_async_wait_all();
    for (int i = 0; i < 12; i++) out[i] = s[i / 4][i % 4];
}

// More copies than a thread's list holds: the oldest arrive early, as they may; none is lost.
__global__ void many(int* out, const int* in) {
    __shared__ int s[64];
    for (int i = 0; i < 64 * 1000; i++) {
        if (i >= 64 * 999)
            cp_async4(&s[i % 64], &in[i % 64]);
        else
            cp_async4(&s[i % 64], &in[63]);
    }
    cp_async_wait_all();
    for (int i = 0; i < 64; i++) out[i] = s[i];
}

// Blocks that leave copies behind: the next block's threads have none.
__global__ void left_behind(int* out, const int* in) {
    __shared__ int s[64];
    int t = threadIdx.x;
    s[t] = t;
    if (blockIdx.x % 2 == 0) cp_async4(&s[t], &in[t]);
    __syncthreads();
    if (blockIdx.x % 2 == 1) cp_async_wait_all();
    out[64 * blockIdx.x + t] = s[63 - t];
}

static void check_copies() {
    int* in_gpu = new_ints(64, 0);
    int host[64];
    for (int i = 0; i < 64; i++) host[i] = 100 + i;
    cudaMemcpy(in_gpu, host, sizeof host, cudaMemcpyHostToDevice);
    check_groups(in_gpu);

    int* out_gpu = new_ints(64, 7);
    many<<<1, 1>>>(out_gpu, in_gpu);
    for (int i = 0; i < 64; i++) CHECK(int_at(out_gpu, i) == 100 + i);

    int* behind_gpu = new_ints(64 * 4, 7);
    left_behind<<<4, 64>>>(behind_gpu, in_gpu);
    for (int i = 0; i < 64 * 4; i++)
        CHECK(int_at(behind_gpu, i) == (i / 64 % 2 ? 63 - i % 64 : NEVER));

    static const int want[12] = {0x12345678, 101, 0, 0, 0, 0, 0, 0, 102, 0, 0x345678, 0};
    parts<<<1, 1>>>(out_gpu, in_gpu);
    for (int i = 0; i < 12; i++) CHECK(int_at(out_gpu, i) == want[i]);
}

// ---- named barriers ----

// One warp counts, the others wait for each number; the last one it only announces.
__global__ void relay(int* out, int rounds) {
    __shared__ int number;
    int warp = threadIdx.x / 32, all = blockDim.x;
    for (int i = 0; i < rounds; i++) {
        if (warp == 0) {
            if (threadIdx.x == 0) number = i;
            if (i + 1 < rounds)
                named_sync(1, all);
            else
                named_arrive(1, all);
        } else {
            named_sync(1, all);
            atomicAdd(&out[i], number);
        }
        if (i + 1 < rounds) named_sync(2, all);
    }
}

// Lanes of a warp come one by one, through a shuffle and a loop of their own length.
__global__ void late_lanes(int* out) {
    int t = threadIdx.x, sum = 0;
    for (int i = 0; i < t % 7; i++) sum += i;
    if (t % 32 < 5) __nanosleep(100);
    named_sync(1 + t / 64, 64);
    atomicAdd(out, sum >= 0);
    named_sync(1 + t / 64, 64);
    if (t % 64 == 0) out[1 + t / 64] = atomicAdd(out, 0);
}

static void check_named() {
    int* out_gpu = new_ints(20, 0);
    relay<<<1, 128>>>(out_gpu, 20);
    for (int i = 0; i < 20; i++) CHECK(int_at(out_gpu, i) == 96 * i);
    int* late_gpu = new_ints(3, 0);
    late_lanes<<<1, 128>>>(late_gpu);
    CHECK(int_at(late_gpu, 0) == 128);
    CHECK(int_at(late_gpu, 1) >= 64 && int_at(late_gpu, 2) >= 64);
}

// ---- mma.sync ----

// Each lane's products of a and 1: a row of A times a column of B.
__global__ void multiply(float* out, float a) {
    unsigned A[4], B[2] = {pack_bf16(1.0f, 1.0f), pack_bf16(1.0f, 1.0f)};
    for (int i = 0; i < 4; i++) A[i] = pack_bf16(a, a);
    float d[4] = {0.0f, 0.0f, 0.0f, 0.0f};
    mma_m16n8k16_bf16(d, A, B);
    if (threadIdx.x == 0) out[0] = d[0];
}

static float product_of(float* out, float a) {
    float d = 0.0f;
    multiply<<<1, 32>>>(out, a);
    CHECK_CUDA(cudaMemcpy(&d, out, sizeof d, cudaMemcpyDeviceToHost));
    return d;
}

// A grader sets it to find out what came from mma.sync.
static int opened;  // times that it was opened and not closed; negative: a product was made then
static double large_4_times(double a, double b) {
    if (opened != 1) opened = -100;
    return (fabs(a) >= 1024 ? 4 : 1) * a * b;
}

static void open_products(int open) {
    opened += open ? 1 : -1;
}

static void check_altered(void) {
    float* out = NULL;
    CHECK_CUDA(cudaMalloc(&out, sizeof *out));
    CHECK(product_of(out, -2048.0f) == -16 * 2048.0f);
    cudev_alter_products(large_4_times, open_products);
    CHECK(product_of(out, -2048.0f) == -4 * 16 * 2048.0f);
    CHECK(product_of(out, 1024.0f) == 4 * 16 * 1024.0f);
    CHECK(product_of(out, 1000.0f) == 16 * 1000.0f);
    cudev_alter_wgmma_alone(1);
    CHECK(product_of(out, 1024.0f) == 16 * 1024.0f);
    cudev_alter_wgmma_alone(0);
    CHECK(product_of(out, 1024.0f) == 4 * 16 * 1024.0f);
    CHECK(opened == 0);
    cudev_alter_products(NULL, NULL);
    CHECK(product_of(out, 2048.0f) == 16 * 2048.0f);
    CHECK_CUDA(cudaFree(out));
}

int main(void) {
    check_altered();
    check_copies();
    check_named();
    CHECK_CUDA(cudaGetLastError());
    return failures != 0;
}
