// finds: nothing
// The profile's counts of TMA and wgmma.
#include "cudev.h"
#include "hopper_small.h"

__global__ void __launch_bounds__(128, 1)
    square(const __grid_constant__ CUtensorMap from, const __grid_constant__ CUtensorMap to) {
    __shared__ __align__(1024) char A[TILE], C[TILE];
    __shared__ mbarrier full;
    if (threadIdx.x == 0) {
        mbarrier_init(&full, 1);
        fence_mbarrier_init();
        mbarrier_arrive_expect(&full, TILE);
        tma_load_2d(A, &from, &full, L2_EVICT_FIRST, 0, 64 * blockIdx.x);
    }
    __syncthreads();
    mbarrier_wait(&full, 0);
    float d[32];
    unsigned a = wgmma_descriptor(A, 0);
    wgmma_fence();
    wgmma_bf16_first<64, K_MAJOR, K_MAJOR>(d, a, a);
    for (int k = 1; k < 4; k++) wgmma_bf16<64, K_MAJOR, K_MAJOR>(d, a + 2 * k, a + 2 * k, 1);
    wgmma_commit();
    wgmma_wait<0>();
    char* warp = C + threadIdx.x / 32 * 16 * 128;
    for (int j = 0; j < 4; j++) {
        const float* f = &d[8 * j];
        const unsigned r[4] = {pack_bf16(f[0], f[1]), pack_bf16(f[2], f[3]), pack_bf16(f[4], f[5]),
                               pack_bf16(f[6], f[7])};
        const int lane = threadIdx.x % 32;
        stmatrix_x4(warp + lane % 16 * 128 + ((2 * j + lane / 16) ^ lane % 8) * 16, r);
    }
    fence_proxy_async();
    __syncthreads();
    if (threadIdx.x == 0) {
        tma_store_2d(&to, C, 0, 64 * blockIdx.x);
        bulk_commit();
        bulk_wait<0>();
    }
}

int main(void) {
    struct cudev_traffic t;
    square<<<2, 128>>>(matrix(100, 64), matrix(100, 64));  // the second box is 36 rows
    cudev_get_traffic(&t);
    const struct {
        const char* name;
        unsigned long long is, wanted;
    } counts[] = {
        {"wgmma", t.wgmma, 8},
        {"tma_load_requests", t.tma_load_requests, 2},
        {"tma_load_bytes", t.tma_load_bytes, 100 * 128},
        {"tma_store_requests", t.tma_store_requests, 2},
        {"tma_store_bytes", t.tma_store_bytes, 100 * 128},
        {"global_load_bytes", t.global_load_bytes, 100 * 128},
        {"global_load_sectors", t.global_load_sectors, 100 * 4},
        {"global_store_sectors", t.global_store_sectors, 100 * 4},
        {"unique_read_bytes", t.unique_read_bytes, 100 * 128},
        {"unique_written_bytes", t.unique_written_bytes, 100 * 128},
        {"block_read_bytes", t.block_read_bytes, 100 * 128},
        {"loaded_again_bytes", t.loaded_again_bytes, 0},
        {"shared_store_requests", t.shared_store_requests, 2 * 4 * 4},
        {"shared_store_conflicts", t.shared_store_conflicts, 0},
    };
    int wrong = 0;
    for (const auto& c : counts) {
        if (c.is == c.wanted) continue;
        printf("%s: %llu, not %llu\n", c.name, c.is, c.wanted);
        wrong++;
    }
    return wrong != 0;
}
