// A right kernel of another design: 16 x 16 threads make a tile of scores in fp32, as in lesson 17,
// keys are split in chunks of whole pages, and every part goes through the workspace.
#include "flash_decode.h"

#include <cuda_bf16.h>
#include <math.h>

#define TILE 16
#define CHUNKS_OF 8  // parts for each multiprocessor, down to a page

struct cache {
    const bf16 *K, *V;
    const int *table, *lengths;
    int page_size, max_pages, N_q, H_q, H_k, chunk;  // chunk: keys of a part
    float scale;
};

// A row of O and its LSE for each packed row of each key head in each part.
__device__ float* part_of(float* workspace, const struct cache& p, int64_t head, int row, int s,
                          int parts, int d) {
    int64_t rows = (int64_t)p.N_q * (p.H_q / p.H_k);
    return workspace + ((head * rows + row) * parts + s) * (d + 1);
}

// Grid (parts, B * H_k, tiles of rows), block (TILE, TILE).
template <int d>
__global__ void part_kernel(float* workspace, const bf16* __restrict__ Q, const struct cache p) {
    __shared__ float Q_smem[TILE][d + 1], K_smem[TILE][d + 1], V_smem[TILE][d + 1];
    __shared__ float S_smem[TILE][TILE];
    int x = threadIdx.x, y = threadIdx.y;
    int batch = blockIdx.y / p.H_k, g = blockIdx.y % p.H_k, group = p.H_q / p.H_k;
    int row = blockIdx.z * TILE + y, rows = p.N_q * group, length = p.lengths[batch];
    int first = blockIdx.x * p.chunk, end = min(first + p.chunk, length);
    int visible = min(length, length - p.N_q + 1 + row / group);
    const bf16* q =
        Q + (((int64_t)batch * p.N_q + row / group) * p.H_q + g * group + row % group) * d;
    for (int c = x; c < d; c += TILE) Q_smem[y][c] = row < rows ? __bfloat162float(q[c]) : 0.0f;
    float m = -INFINITY, l = 0.0f, O[d / TILE] = {0.0f};
    for (int key = first; key < end; key += TILE) {
        int64_t page = p.table[(int64_t)batch * p.max_pages + key / p.page_size];
        int64_t at = ((page * p.H_k + g) * p.page_size + key % p.page_size + y) * d;
        __syncthreads();  // all have read the last tile, or written Q
        for (int c = x; c < d; c += TILE) {
            bool exists = key + y < end;
            K_smem[y][c] = exists ? __bfloat162float(p.K[at + c]) : 0.0f;
            V_smem[y][c] = exists ? __bfloat162float(p.V[at + c]) : 0.0f;
        }
        __syncthreads();  // the tiles are written before they are read
        float s = 0.0f;
        for (int c = 0; c < d; c++) s += Q_smem[y][c] * K_smem[x][c];
        S_smem[y][x] = key + x < visible && key + x < end ? s * p.scale : -INFINITY;
        __syncthreads();  // the scores are written before they are read
        float m_new = m;
        for (int j = 0; j < TILE; j++) m_new = fmaxf(m_new, S_smem[y][j]);
        if (m_new == -INFINITY) continue;
        float alpha = expf(m - m_new);
        l *= alpha;
        for (int c = 0; c < d / TILE; c++) O[c] *= alpha;
        for (int j = 0; j < TILE; j++) {
            float weight = expf(S_smem[y][j] - m_new);
            l += weight;
            for (int c = 0; c < d / TILE; c++) O[c] += weight * V_smem[j][x + c * TILE];
        }
        m = m_new;
    }
    if (row >= rows) return;
    float* part = part_of(workspace, p, blockIdx.y, row, blockIdx.x, gridDim.x, d);
    for (int c = 0; c < d / TILE; c++) part[x + c * TILE] = l > 0.0f ? O[c] / l : 0.0f;
    if (x == 0) part[d] = l > 0.0f ? m + logf(l) : -INFINITY;
}

// Grid (rows, B * H_k), block d: a thread for each column.
__global__ void merge_kernel(bf16* O, float* LSE, float* workspace, const struct cache p,
                             int parts) {
    int d = blockDim.x, row = blockIdx.x, group = p.H_q / p.H_k;
    int batch = blockIdx.y / p.H_k, head = blockIdx.y % p.H_k * group + row % group;
    int query = row / group;
    float M = -INFINITY, sum = 0.0f, total = 0.0f;
    for (int s = 0; s < parts; s++)
        M = fmaxf(M, part_of(workspace, p, blockIdx.y, row, s, parts, d)[d]);
    for (int s = 0; s < parts && M > -INFINITY; s++) {
        const float* part = part_of(workspace, p, blockIdx.y, row, s, parts, d);
        float weight = expf(part[d] - M);
        sum += weight;
        total += weight * part[threadIdx.x];
    }
    int64_t at = ((int64_t)batch * p.N_q + query) * p.H_q + head;
    O[at * d + threadIdx.x] = __float2bfloat16(sum > 0.0f ? total / sum : 0.0f);
    if (threadIdx.x == 0) LSE[((int64_t)batch * p.H_q + head) * p.N_q + query] = M + logf(sum);
}

extern "C" int flash_decode(bf16* O_gpu, float* LSE_gpu, const bf16* Q_gpu, const bf16* K_pages_gpu,
                            const bf16* V_pages_gpu, const int* page_table_gpu,
                            const int* lengths_gpu, int page_size, int max_pages, int B, int N_q,
                            int H_q, int H_k, int d, float scale, int* tickets_gpu,
                            void* workspace_gpu) {
    const void* const aligned[] = {O_gpu, LSE_gpu, Q_gpu, K_pages_gpu, V_pages_gpu, workspace_gpu};
    if (B < 0 || N_q < 0 || H_q < 0 || H_k < 0 || d < 1 || page_size < 1 || max_pages < 0)
        return COURSE_BAD_ARGUMENT;
    if (H_k > 0 ? H_q % H_k : H_q) return COURSE_BAD_ARGUMENT;
    if ((d != 64 && d != 128) || page_size % 16 || N_q > 8 || (int64_t)B * H_q > 65535 ||
        (int64_t)page_size * max_pages > 1 << 30 || !(scale > 0.0f))
        return COURSE_UNSUPPORTED;
    if (B == 0 || N_q == 0 || H_q == 0) return COURSE_OK;
    if (!O_gpu || !LSE_gpu || !Q_gpu || !lengths_gpu || !tickets_gpu || !workspace_gpu)
        return COURSE_BAD_ARGUMENT;
    if (max_pages > 0 && (!K_pages_gpu || !V_pages_gpu || !page_table_gpu))
        return COURSE_BAD_ARGUMENT;
    for (int i = 0; i < 6; i++)
        if ((uintptr_t)aligned[i] % 16) return COURSE_UNSUPPORTED;

    int multiprocessors = 0;
    int device;
    COURSE_TRY(cudaGetDevice(&device));
    COURSE_TRY(cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, device));
    int64_t heads = (int64_t)B * H_k, slots = (int64_t)page_size * max_pages;
    int64_t parts = CEIL_DIV(CHUNKS_OF * multiprocessors, heads);
    if (parts > flash_decode_most_splits(B, H_k)) parts = flash_decode_most_splits(B, H_k);
    int64_t tiles = CEIL_DIV(CEIL_DIV(slots, TILE), parts);
    if (tiles < 8) tiles = 8;  // at least
    parts = slots > 0 ? CEIL_DIV(slots, tiles * TILE) : 1;
    const struct cache p = {
        K_pages_gpu, V_pages_gpu, page_table_gpu,      lengths_gpu, page_size, max_pages, N_q,
        H_q,         H_k,         (int)(tiles * TILE), scale};
    int rows = N_q * (H_q / H_k);
    float* workspace = (float*)workspace_gpu;
    dim3 grid((unsigned)parts, (unsigned)heads, CEIL_DIV(rows, TILE)), block(TILE, TILE);
    if (d == 64)
        part_kernel<64><<<grid, block>>>(workspace, Q_gpu, p);
    else
        part_kernel<128><<<grid, block>>>(workspace, Q_gpu, p);
    COURSE_TRY(cudaGetLastError());
    merge_kernel<<<dim3(rows, (unsigned)heads), d>>>(O_gpu, LSE_gpu, workspace, p, (int)parts);
    COURSE_TRY(cudaGetLastError());
    return COURSE_OK;
}
