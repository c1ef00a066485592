// peers.c: in the place of peers.py, for the bench's own test: peers, and the program that has
// them.
#include "bench/peers.h"

#include <cuda_runtime_api.h>

enum { RIGHT, AGREED, LAST_ELEMENT, NEARLY, NO_MEMORY, RUNS_OUT, NOT_OFFERED, PEERS };
static const char* const names[] = {"right",     "agreed",   "last_element", "nearly",
                                    "no_memory", "runs_out", "not_offered"};
static const char* const kinds[] = {"pytorch", "pytorch", "pytorch", "triton",
                                    "pytorch", "pytorch", "pytorch"};
static const char* layouts[PEERS] = {"N"};

enum { MOST = 4321 };
static struct bench_run* run;
static int64_t n;
static float x[MOST], y[MOST];

static void prepare(struct bench_run* of, const struct bench_size* size) {
    run = of;
    n = size->n[0];
    void* x_gpu;
    cudaMalloc(&x_gpu, bench_bytes(run, "x"));
    bench_get(run, "x", x_gpu, (size_t)n * sizeof(float));
    cudaMemcpy(x, x_gpu, (size_t)n * sizeof(float), cudaMemcpyDeviceToHost);
    cudaFree(x_gpu);
}

static void finish(void) {
    run = NULL;
}

static int call(int peer) {
    static int calls;  // of RUNS_OUT, which is not called again for this size
    if (peer == NO_MEMORY || (peer == RUNS_OUT && ++calls % 4 == 0)) return BENCH_PEER_NO_MEMORY;
    if (peer == NOT_OFFERED) return BENCH_PEER_NOT_OFFERED;
    for (int64_t i = 0; i < n; i++) y[i] = 2 * x[i];
    if (peer == LAST_ELEMENT) y[n - 1] = -1;
    if (peer == NEARLY) y[0] = 2.5f * x[0];
    return BENCH_PEER_OK;
}

static void deliver(int peer) {
    if (peer == AGREED) {
        bench_put_agreed(run, "y");
        return;
    }
    void* y_gpu;
    cudaMalloc(&y_gpu, bench_bytes(run, "y"));
    cudaMemcpy(y_gpu, y, (size_t)n * sizeof(float), cudaMemcpyHostToDevice);
    bench_put(run, "y", y_gpu, (size_t)n * sizeof(float));
    cudaFree(y_gpu);
}

int main(int argc, char** argv) {
    const struct bench_peers peers = {PEERS, names,   kinds,  layouts, "none 1.0",
                                      1,     prepare, finish, call,    deliver};
    return bench_main(argc, argv, &peers);
}
