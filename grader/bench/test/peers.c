// peers.c: in the place of peers.py, for the bench's own test: peers, and the program that has
// them.
#include "bench/peers.h"

#include <cuda_runtime_api.h>

// NOT_READY does not get z again, which the call before it has doubled.
enum { RIGHT, AGREED, LAST_ELEMENT, NEARLY, NO_MEMORY, RUNS_OUT, NOT_OFFERED, NOT_READY, PEERS };
static const char* const names[] = {"right",     "agreed",   "last_element", "nearly",
                                    "no_memory", "runs_out", "not_offered",  "not_ready"};
static const char* const kinds[] = {"pytorch", "pytorch", "pytorch", "triton",
                                    "pytorch", "pytorch", "pytorch", "pytorch"};
static const char* layouts[PEERS] = {"N"};

enum { MOST = 4321 };
static struct bench_run* run;
static int64_t n;
static float x[MOST], y[MOST], z[MOST];

static void get(const char* name, float* to) {
    void* gpu;
    cudaMalloc(&gpu, bench_bytes(run, name));
    bench_get(run, name, gpu, (size_t)n * sizeof(float));
    cudaMemcpy(to, gpu, (size_t)n * sizeof(float), cudaMemcpyDeviceToHost);
    cudaFree(gpu);
}

static void put(const char* name, const float* from) {
    void* gpu;
    cudaMalloc(&gpu, bench_bytes(run, name));
    cudaMemcpy(gpu, from, (size_t)n * sizeof(float), cudaMemcpyHostToDevice);
    bench_put(run, name, gpu, (size_t)n * sizeof(float));
    cudaFree(gpu);
}

static void prepare(struct bench_run* of, const struct bench_size* size) {
    run = of;
    n = size->n[0];
    get("x", x);
}

static void finish(void) {
    run = NULL;
}

static void ready(int peer) {
    if (peer != NOT_READY) get("z", z);
}

static int call(int peer) {
    static int calls;  // of RUNS_OUT, which is not called again for this size
    if (peer == NO_MEMORY || (peer == RUNS_OUT && ++calls % 4 == 0)) return BENCH_PEER_NO_MEMORY;
    if (peer == NOT_OFFERED) return BENCH_PEER_NOT_OFFERED;
    for (int64_t i = 0; i < n; i++) y[i] = 2 * x[i];
    for (int64_t i = 0; i < n; i++) z[i] *= 2;
    if (peer == LAST_ELEMENT) y[n - 1] = -1;
    if (peer == NEARLY) y[0] = 2.5f * x[0];
    return BENCH_PEER_OK;
}

static void deliver(int peer) {
    if (peer == AGREED) {
        bench_put_agreed(run, "y");
        bench_put_agreed(run, "z");
        return;
    }
    put("y", y);
    put("z", z);
}

int main(int argc, char** argv) {
    const struct bench_peers peers = {PEERS,   names,  kinds, layouts, "none 1.0", 1,
                                      prepare, finish, ready, call,    deliver};
    return bench_main(argc, argv, &peers);
}
