// runs
// Cooperative groups: blocks, tiles, coalesced threads, partitions, sums and scans.
#include <stdio.h>
#include <cooperative_groups.h>
#include <cooperative_groups/memcpy_async.h>
#include <cooperative_groups/reduce.h>
#include <cooperative_groups/scan.h>
#include "test.h"

namespace cg = cooperative_groups;
using cooperative_groups::this_thread_block;

struct three {
    int a, b, c;
};

__device__ int sum_of(cg::thread_group group, int* buffer, int value) {
    int rank = group.thread_rank();
    for (int i = group.size() / 2; i > 0; i /= 2) {
        buffer[rank] = value;
        group.sync();
        if (rank < i) value += buffer[rank + i];
        group.sync();
    }
    return value;  // of rank 0
}

__global__ void of_block(int* out) {
    extern __shared__ int buffer[];
    cg::thread_block block = cg::this_thread_block();
    int sum = sum_of(block, buffer, (int)block.thread_rank());
    if (block.thread_rank() == 0) out[0] = sum;
    auto tile = cg::tiled_partition<16>(block);
    sum = sum_of(tile, buffer + block.thread_rank() / 16 * 16, (int)block.thread_rank());
    if (tile.thread_rank() == 0) out[1 + tile.meta_group_rank()] = sum;
    if (block.thread_rank() == 5) out[20] = (int)block.size() + 1000 * (int)tile.meta_group_size();
    buffer[block.thread_rank()] = (int)block.thread_rank();
    cg::thread_block::arrival_token token = block.barrier_arrive();
    block.barrier_wait(std::move(token));
    if (buffer[block.size() - 1 - block.thread_rank()] < 0) out[0] = -1;
    cg::sync(block);
}

template <int size> __global__ void of_tiles(float* sums, int* scans, int* others) {
    cg::thread_block block = this_thread_block();
    cg::thread_block_tile<size> tile = cg::tiled_partition<size>(block);
    int i = block.thread_rank();
    sums[i] = cg::reduce(tile, (float)i, cg::plus<float>());
    scans[i] = cg::inclusive_scan(tile, i, cg::plus<int>()) - cg::exclusive_scan(tile, i);
    others[i] = cg::reduce(tile, i, cg::greater<int>()) - cg::reduce(tile, i, cg::less<int>{});
    three t = {i, 2 * i, 3 * i};
    t = tile.shfl(t, 1);
    if (t.c != 3 * (i / size * size + 1)) sums[i] = -1;
    if (tile.any(i % size == 3) != (size > 3)) sums[i] = -2;
    if (tile.ballot(tile.thread_rank() == 2) != (size > 2 ? 4u : 0u)) sums[i] = -3;
    if (tile.shfl_up(i, 1) != (tile.thread_rank() ? i - 1 : i)) sums[i] = -4;
    if (tile.shfl_xor(i, 1) != (i ^ 1)) sums[i] = -5;
}

__global__ void of_lanes(int* out, int* counter) {
    int i = threadIdx.x;
    cg::thread_block_tile<32> warp = cg::tiled_partition<32>(cg::this_thread_block());
    cg::coalesced_group third = cg::labeled_partition(warp, i % 3);
    out[i] = cg::reduce(third, i, cg::plus<int>());
    cg::coalesced_group half = cg::binary_partition(warp, i < 10);
    out[32 + i] = half.size() * 100 + half.thread_rank();
    if (i % 2) {
        cg::coalesced_group odd = cg::coalesced_threads();
        int place = 0;  // one atomic for all of them
        if (odd.thread_rank() == 0) place = atomicAdd(counter, (int)odd.size());
        place = odd.shfl(place, 0) + odd.thread_rank();
        out[64 + i] = place;
        out[96 + i] = cg::inclusive_scan(odd, 1);
        if (odd.shfl_down(i, 1) != (odd.thread_rank() + 1 < odd.size() ? i + 2 : i))
            out[96 + i] = -1;
    }
    cg::coalesced_group four = cg::tiled_partition(third, 4u);
    out[128 + i] = four.size() * 10 + four.meta_group_rank();
}

__global__ void by_copy(const int* in, int* out) {
    __shared__ int stage[128];
    cg::thread_block block = cg::this_thread_block();
    cg::memcpy_async(block, stage, in, sizeof stage);
    cg::wait(block);
    out[block.thread_rank()] = stage[127 - block.thread_rank()];
    cg::grid_group grid = cg::this_grid();
    if (grid.thread_rank() == 0 && grid.size() != 128) out[0] = -1;
}

int main() {
    int* out = new_ints(256, -7);
    int* counter = new_ints(1, 0);
    of_block<<<1, 128, 128 * sizeof(int)>>>(out);
    CHECK(int_at(out, 0) == 128 * 127 / 2);
    for (int t = 0; t < 8; t++) CHECK(int_at(out, 1 + t) == 16 * 16 * t + 120);
    CHECK(int_at(out, 20) == 8128);

    float* sums;
    int *scans = new_ints(64, 0), *others = new_ints(64, 0);
    CHECK_CUDA(cudaMalloc(&sums, 64 * sizeof(float)));
    for (int size = 4; size <= 32; size *= 8) {
        if (size == 4) of_tiles<4><<<1, 64>>>(sums, scans, others);
        if (size == 32) of_tiles<32><<<1, 64>>>(sums, scans, others);
        float host[64];
        CHECK_CUDA(cudaMemcpy(host, sums, sizeof host, cudaMemcpyDeviceToHost));
        for (int i = 0; i < 64; i++) {
            int first = i / size * size;
            CHECK(host[i] == size * first + size * (size - 1) / 2);
            CHECK(int_at(scans, i) == i);
            CHECK(int_at(others, i) == size - 1);
        }
    }

    of_lanes<<<1, 32>>>(out, counter);
    CHECK(int_at(counter, 0) == 16);
    for (int i = 0; i < 32; i++) {
        int sum = 0;
        for (int k = i % 3; k < 32; k += 3) sum += k;
        CHECK(int_at(out, i) == sum);
        CHECK(int_at(out, 32 + i) == (i < 10 ? 1000 + i : 2200 + i - 10));
        if (i % 2) CHECK(int_at(out, 64 + i) == i / 2 && int_at(out, 96 + i) == i / 2 + 1);
        int rank = i / 3, size = i % 3 == 2 ? 10 : 11, group = rank / 4;
        int members = size - 4 * group < 4 ? size - 4 * group : 4;
        CHECK(int_at(out, 128 + i) == 10 * members + group);
    }
    by_copy<<<1, 128>>>(out, scans = new_ints(128, 0));
    for (int i = 0; i < 128; i++) CHECK(int_at(scans, i) == int_at(out, 127 - i));
    return failures != 0;
}
