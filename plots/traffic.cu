// traffic.cu: how many bytes of global memory lesson 12's function touches, counted by the CPU
// device: one head of N queries and N keys. Linked once with steps/1_naive.cu, once with the
// solution (grader/make/traffic.sh).
//     CUDEV_WATCH=profile traffic NAME N...      a line for each N: N,d,NAME,device_bytes,l2_bytes
// device_bytes: the distinct sectors that each launch reads, and that it writes: what device memory
// moves at least. l2_bytes: the distinct sectors that each block reads, and what is written: what
// passes L2 at least.
#include <cuda_fp16.h>
#include <cudev.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "flash_forward.h"

enum { D = 128, SECTOR = 32 };

static void* zeros(size_t bytes) {
    void* p_gpu;
    if (cudaMalloc(&p_gpu, bytes) != cudaSuccess || cudaMemset(p_gpu, 0, bytes) != cudaSuccess) {
        fprintf(stderr, "traffic: no memory for %zu bytes\n", bytes);
        exit(1);
    }
    return p_gpu;
}

int main(int argc, char** argv) {
    for (int a = 2; a < argc; a++) {
        int N = atoi(argv[a]);
        int64_t head = (int64_t)N * D;
        fp16* array_gpu[4];  // O, Q, K, V
        for (int i = 0; i < 4; i++) array_gpu[i] = (fp16*)zeros((size_t)head * sizeof(fp16));
        float* LSE_gpu = (float*)zeros((size_t)N * sizeof(float));
        cudev_reset_traffic();
        int status = flash_forward(array_gpu[0], LSE_gpu, array_gpu[1], array_gpu[2], array_gpu[3],
                                   1, N, N, D, head, D, N, head, D, head, D, head, D, 1 / sqrtf(D));
        struct cudev_traffic t;
        cudev_get_traffic(&t);
        unsigned long long written = SECTOR * t.launch_written_sectors;
        if (status != COURSE_OK || t.launches == 0) {
            fprintf(stderr, "traffic: %s does not run with N = %d\n", argv[1], N);
            return 1;
        }
        printf("%d,%d,%s,%llu,%llu\n", N, D, argv[1], SECTOR * t.launch_read_sectors + written,
               t.block_read_bytes + written);
        for (int i = 0; i < 4; i++) cudaFree(array_gpu[i]);
        cudaFree(LSE_gpu);
    }
    return 0;
}
