// The instructions of hopper.h in the plain build: what is asynchronous happens as late as it may, so
// that a mistake shows in the numbers. hardware/hopper.cu has what they compute.
#include "hopper.h"
#include "test.h"
#include "cudev.h"

enum { NEVER = -1, TILE = 64 * 64 * 2, ONES = 0x3f803f80, TWOS = 0x40004000 };  // pairs of bf16

static int encode(CUtensorMap* map, const void* p, int rows, int columns, int swizzle) {
    const cuuint64_t sizes[] = {(cuuint64_t)columns, (cuuint64_t)rows};
    const cuuint64_t strides[] = {(cuuint64_t)columns * 2};
    const cuuint32_t box[] = {64, 64};
    return tensor_map_encode(map, p, CU_TENSOR_MAP_DATA_TYPE_BFLOAT16, 2, sizes, strides, box,
                             swizzle);
}

static CUtensorMap tile_of(const int* p_gpu) {
    CUtensorMap map;
    CHECK(encode(&map, p_gpu, 64, 64, 128) == 0);
    return map;
}

// ---- loads and stores --------------------------------------------------------------------------

// out: a word of the tile before and after the wait; of the tensor stored to, before and after its
// waits; and whether what was written between the store and its wait has been stored.
__global__ void late_copies(int* out, int* to, const __grid_constant__ CUtensorMap from_map,
                            const __grid_constant__ CUtensorMap to_map) {
    __shared__ __align__(1024) int s[TILE / 4];
    __shared__ mbarrier full;
    mbarrier_init(&full, 1);
    fence_mbarrier_init();
    mbarrier_arrive_expect(&full, TILE);
    tma_load_2d(s, &from_map, &full, L2_EVICT_NORMAL, 0, 0);
    out[0] = s[0];
    mbarrier_wait(&full, 0);
    out[1] = s[0];
    tma_store_2d(&to_map, s, 0, 0);
    bulk_commit();
    s[1] = TWOS;
    bulk_wait_read<0>();
    out[2] = to[0];
    s[0] = 5;
    bulk_wait<0>();
    out[3] = to[0];
    out[4] = to[1];
}

static void check_copies(void) {
    int *from_gpu = new_ints(TILE / 4, ONES), *to_gpu = new_ints(TILE / 4, 7);
    int* out_gpu = new_ints(5, 0);
    late_copies<<<1, 1>>>(out_gpu, to_gpu, tile_of(from_gpu), tile_of(to_gpu));
    const int want[] = {NEVER, ONES, 7, ONES, TWOS};
    for (int i = 0; i < 5; i++) CHECK(int_at(out_gpu, i) == want[i]);
}

// ---- products ----------------------------------------------------------------------------------

// A in registers times B: all ones, but A becomes two before the wait. out: D before and after the
// waits of two groups of one product each.
__global__ void late_products(float* out) {
    __shared__ __align__(1024) unsigned B[TILE / 4];
    for (int i = threadIdx.x; i < TILE / 4; i += blockDim.x) B[i] = ONES;
    fence_proxy_async();
    __syncthreads();
    float d[32], e[32];
    unsigned a[4] = {ONES, ONES, ONES, ONES}, b = wgmma_descriptor(B, 0);
    for (int i = 0; i < 32; i++) d[i] = e[i] = 0.5f;
    wgmma_fence();
    wgmma_bf16_registers_first<64, K_MAJOR>(d, a, b);
    wgmma_commit();
    wgmma_bf16_registers<64, K_MAJOR>(e, a, b, 1);
    wgmma_commit();
    if (threadIdx.x == 0) out[0] = d[0];
    wgmma_wait<1>();
    if (threadIdx.x == 0) out[1] = d[0];
    if (threadIdx.x == 0) out[2] = e[0];
    for (int i = 0; i < 4; i++) a[i] = TWOS;
    wgmma_wait<0>();
    if (threadIdx.x == 127) out[3] = e[0];  // of the warp that waits first
}

static float* products(float host[4]) {
    float* out_gpu = (float*)new_ints(4, 0);
    late_products<<<1, 128>>>(out_gpu);
    CHECK_CUDA(cudaMemcpy(host, out_gpu, 4 * sizeof(float), cudaMemcpyDeviceToHost));
    CHECK_CUDA(cudaFree(out_gpu));
    return host;
}

static int opened;  // times that it was opened and not closed; negative: a product was made then
static double large_4_times(double a, double b) {
    if (opened != 1) opened = -100;
    return 4 * a * b;
}

static void open_products(int open) {
    opened += open ? 1 : -1;
}

static void check_products(void) {
    float d[4];
    products(d);
    CHECK(isnan(d[0]) && d[1] == 16.0f);
    CHECK(isnan(d[2]) && d[3] == 32.5f);
    cudev_alter_products(large_4_times, open_products);
    CHECK(products(d)[1] == 64.0f);
    cudev_alter_wgmma_alone(1);
    CHECK(products(d)[1] == 64.0f);
    cudev_alter_wgmma_alone(0);
    CHECK(opened == 0);
    cudev_alter_products(NULL, NULL);
    CHECK(products(d)[1] == 16.0f);
}

// ---- clusters ----------------------------------------------------------------------------------

// Each thread reads what its like in the other block of the cluster has written.
template <int n> __global__ void __cluster_dims__(2, 1, 1) neighbours(int* out) {
    __shared__ int s[n];
    s[threadIdx.x] = 10 * blockIdx.x + threadIdx.x;
    cluster_sync();
    const int* other = (const int*)cluster_shared(s, cluster_rank() ^ 1);
    out[blockIdx.x * n + threadIdx.x] = other[threadIdx.x] + 1000 * cluster_rank();
    cluster_sync();
}

// The barrier of a block is its own, also in a cluster.
__global__ void __cluster_dims__(4, 1, 1) votes(int* out) {
    int any = __syncthreads_or(blockIdx.x == 5);
    if (threadIdx.x == 0) out[blockIdx.x] = 100 * any + cluster_rank();
}

static void check_clusters(void) {
    int *out_gpu = new_ints(6 * 64, 0), *votes_gpu = new_ints(8, 0);
    neighbours<64><<<6, 64>>>(out_gpu);
    for (int b = 0; b < 6; b++)
        for (int t = 0; t < 64; t++)
            CHECK(int_at(out_gpu, 64 * b + t) == 10 * (b ^ 1) + t + 1000 * (b % 2));
    votes<<<8, 96>>>(votes_gpu);
    for (int b = 0; b < 8; b++) CHECK(int_at(votes_gpu, b) == b % 4 + (b == 5 ? 100 : 0));
    votes<<<6, 96>>>(votes_gpu);  // one cluster and a half
    CHECK(cudaGetLastError() == cudaErrorInvalidConfiguration);
}

// ---- launches with attributes ------------------------------------------------------------------

__global__ void ranks(int* out) {
    griddep_wait();
    griddep_launch();
    if (threadIdx.x == 0) out[blockIdx.x] = cluster_rank() + gridDim.x * blockDim.x;
}

static void check_attributes(void) {
    int* out_gpu = new_ints(8, 0);
    cudaLaunchAttribute attribute[2] = {};
    attribute[0].id = cudaLaunchAttributeClusterDimension;
    attribute[0].val.clusterDim.x = 2;
    attribute[0].val.clusterDim.y = attribute[0].val.clusterDim.z = 1;
    attribute[1].id = cudaLaunchAttributeProgrammaticStreamSerialization;
    attribute[1].val.programmaticStreamSerializationAllowed = 1;
    cudaLaunchConfig_t config = {};
    config.gridDim = 8, config.blockDim = 64, config.dynamicSmemBytes = 16;
    config.attrs = attribute, config.numAttrs = 2;
    CHECK_CUDA(cudaLaunchKernelEx(&config, ranks, out_gpu));
    for (int b = 0; b < 8; b++) CHECK(int_at(out_gpu, b) == b % 2 + 512);
    CHECK_CUDA(cudaLaunchKernelEx(&config, neighbours<64>, new_ints(8 * 64, 0)));
    // Refused are another cluster than the kernel's, half of one, two dimensions of it, what is
    // not here, no list of attributes, too much memory.
    CHECK(cudaLaunchKernelEx(&config, votes, out_gpu) == cudaErrorInvalidValue);
    config.gridDim = 7;
    CHECK(cudaLaunchKernelEx(&config, ranks, out_gpu) == cudaErrorInvalidConfiguration);
    config.gridDim = 8, attribute[0].val.clusterDim.y = 2;
    CHECK(cudaLaunchKernelEx(&config, ranks, out_gpu) == cudaErrorInvalidConfiguration);
    attribute[0].id = cudaLaunchAttributeCooperative;
    CHECK(cudaLaunchKernelEx(&config, ranks, out_gpu) == cudaErrorNotSupported);
    config.attrs = NULL;
    CHECK(cudaLaunchKernelEx(&config, ranks, out_gpu) == cudaErrorInvalidValue);
    CHECK(cudaLaunchKernelEx(NULL, ranks, out_gpu) == cudaErrorInvalidValue);
    config.numAttrs = 0, config.dynamicSmemBytes = 60 << 10;
    CHECK(cudaLaunchKernelEx(&config, ranks, out_gpu) == cudaErrorInvalidValue);
    CHECK(cudaGetLastError() == cudaErrorInvalidValue);
}

// ---- maps --------------------------------------------------------------------------------------

static void check_maps(void) {
    CUtensorMap map;
    const int* p_gpu = new_ints(TILE / 4, 0);
    CHECK(encode(&map, p_gpu, 64, 64, 128) == CUDA_SUCCESS);
    CHECK(encode(&map, p_gpu, 1, 8, 0) == CUDA_SUCCESS);
    CHECK(encode(NULL, p_gpu, 64, 64, 128) == CUDA_ERROR_INVALID_VALUE);
    CHECK(encode(&map, NULL, 64, 64, 128) == CUDA_ERROR_INVALID_VALUE);
    CHECK(encode(&map, p_gpu + 1, 64, 64, 128) == CUDA_ERROR_INVALID_VALUE);
    CHECK(encode(&map, p_gpu, 64, 60, 128) == CUDA_ERROR_INVALID_VALUE);  // rows of 120 bytes
    CHECK(encode(&map, p_gpu, 64, 64, 64) == CUDA_ERROR_INVALID_VALUE);   // a box of 128
    CHECK(encode(&map, p_gpu, 64, 64, 96) == CUDA_ERROR_INVALID_VALUE);
    CHECK(encode(&map, p_gpu, 0, 64, 128) == CUDA_ERROR_INVALID_VALUE);
}

int main(int argc, char** argv) {
    if (argc > 1) {  // on a card that is no Hopper GPU: run.sh
        CUtensorMap map;
        if (encode(&map, new_ints(TILE / 4, 0), 64, 64, 128) != CUDA_ERROR_NOT_SUPPORTED) return 1;
        cudaLaunchAttribute overlap = {};
        overlap.id = cudaLaunchAttributeProgrammaticStreamSerialization;
        overlap.val.programmaticStreamSerializationAllowed = 1;
        cudaLaunchConfig_t config = {};
        config.attrs = &overlap, config.numAttrs = 1;
        if (cudaLaunchKernelEx(&config, ranks, new_ints(8, 0)) != cudaErrorNotSupported) return 3;
        late_products<<<1, 128>>>((float*)new_ints(4, 0));
        return 2;
    }
    check_copies();
    check_products();
    check_clusters();
    check_attributes();
    check_maps();
    CHECK_CUDA(cudaGetLastError());
    return failures != 0;
}
