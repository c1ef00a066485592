// call.c: how lesson 04's functions are called. `waves` and `on_a_grid` say which one. A matrix may
// begin `first` elements into its array.
#include "matmul_coalesced.h"
#include "run/run.h"

// Numbers of 64 bits come, and go, in two halves.
enum { HALF = 32 };  // bits

static int64_t whole(const int32_t* halves) {
    return (int64_t)halves[0] * ((int64_t)1 << HALF) + (uint32_t)halves[1];
}

// A row of "grids" is a card and a grid on it, a row of "answers" what the function says.
static int waves(void) {
    const int32_t* in = run_cpu("grids");
    int32_t* out = run_cpu("answers");
    for (int64_t i = 0; i < run_int("count"); i++, in += 12, out += 3) {
        const struct card card = {.multiprocessors = in[0],
                                  .threads = in[1],
                                  .blocks = in[2],
                                  .registers = in[3],
                                  .shared = (size_t)in[4],
                                  .shared_block = (size_t)in[5]};
        int per_multiprocessor = -1;
        int64_t waves = matmul_coalesced_waves(&card, in[6], in[7], (size_t)whole(in + 8),
                                               whole(in + 10), &per_multiprocessor);
        out[0] = per_multiprocessor;
        out[1] = (int32_t)(waves >> HALF);
        out[2] = (int32_t)(uint32_t)waves;
    }
    return COURSE_OK;
}

int call(void) {
    if (run_int("waves")) return waves();
    float *C = run_floats("C"), *A = run_floats("A"), *B = run_floats("B");
    int M = (int)run_int("M"), N = (int)run_int("N"), K = (int)run_int("K");
    if (run_int("on_a_grid"))
        return matmul_coalesced_grid(C, A, B, M, N, K, (int)run_int("blocks"));
    return matmul_coalesced(C, A, B, M, N, K);
}
