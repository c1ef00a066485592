// main.c: what `make trace` runs: the launcher, called by the lesson's own call.c with the cases of
// its trace.c, on the CPU device. Prints as JSON the inputs, what trace_step() recorded of each
// tile, and the outputs as they stand in device memory (lessons/README.md, The trace as JSON).
// usage: program LESSON FILE
#include <cuda_runtime_api.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/dtype.h"
#include "run/run.h"
#include "trace/trace.h"

enum { D = TRACE_BLOCK };
enum { WORKSPACE = 4096 };  // bytes, more than any launcher asks for
#define SCALE 0.5           // 1 / sqrt(D)

static const struct trace_case* now;

// ---- the inputs ----------------------------------------------------------------------------

// Quarters from -2 to 2: fp16 and bf16 have them, and all scores are exact. slides/sweep/index.html
// draws the same.
static uint32_t state;

static float draw(void) {
    state = state * 1664525u + 1013904223u;
    return ((int)(state >> 24) % 17 - 8) / 4.0f;
}

// Every case has the first rows of the same arrays.
static struct { float Q[TRACE_N * D], K[TRACE_N * D], V[TRACE_N * D], dO[TRACE_N * D]; } in;

static void draw_all(void) {
    state = 1;
    float* all[] = {in.Q, in.K, in.V, in.dO};
    for (int a = 0; a < 4; a++)
        for (int e = 0; e < TRACE_N * D; e++) all[a][e] = draw();
}

// What the forward pass leaves for the backward: O, which is stored in 16 bits, and LSE, by
// definition.
static void attend(float* O, float* LSE) {
    for (int i = 0; i < now->N_q; i++) {
        double sum = 0.0, o[D] = {0.0};
        for (int j = 0; j < now->N_k && (!now->causal || j <= i + now->N_k - now->N_q); j++) {
            double score = 0.0;
            for (int x = 0; x < D; x++) score += SCALE * in.Q[i * D + x] * in.K[j * D + x];
            sum += exp(score);
            for (int x = 0; x < D; x++) o[x] += exp(score) * in.V[j * D + x];
        }
        for (int x = 0; x < D; x++) {
            uint16_t half;
            dtype_store(F16, &half, sum > 0.0 ? o[x] / sum : 0.0);
            O[i * D + x] = (float)dtype_load(F16, &half);
        }
        LSE[i] = (float)log(sum);
    }
}

// ---- what call.c asks for ------------------------------------------------------------------

static void fail(const char* what, const char* name) {
    fprintf(stderr, "make trace: %s%s\n", what, name);
    exit(1);
}

static struct array {
    const char* name;
    void* gpu;
} arrays[] = {{.name = "Q"},   {.name = "K"},    {.name = "V"},         {.name = "O"},
              {.name = "LSE"}, {.name = "mask"}, {.name = "workspace"}, {.name = "dO"},
              {.name = "dQ"},  {.name = "dK"},   {.name = "dV"}};

static struct array* find(const char* name) {
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++)
        if (strcmp(arrays[i].name, name) == 0) return &arrays[i];
    fail("call.c asks for an array that grader/trace/main.c does not have: ", name);
    return NULL;
}

void* run_gpu(const char* name) {
    return find(name)->gpu;
}

int64_t run_int(const char* name) {
    const struct {
        const char* name;
        int64_t value;
    } known[] = {{"B", 1},
                 {"H", 1},
                 {"d", D},
                 {"N_q", now->N_q},
                 {"N_k", now->N_k},
                 {"causal", now->causal},
                 {"backward", now->backward},
                 {"stride_on", D},
                 {"stride_qn", D},
                 {"stride_kn", D},
                 {"stride_vn", D},
                 {"stride_ob", TRACE_N * D},
                 {"stride_qb", TRACE_N * D},
                 {"stride_kb", TRACE_N * D},
                 {"stride_vb", TRACE_N * D},
                 {"stride_lb", TRACE_N}};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (strcmp(known[i].name, name) == 0) return known[i].value;
    fail("call.c asks for a number that grader/trace/main.c does not have: ", name);
    return 0;
}

double run_real(const char* name) {
    if (strcmp(name, "scale") != 0) fail("call.c asks for something else than scale: ", name);
    return SCALE;
}

struct strides run_strides(const char* array) {
    (void)array;  // all are (1, N, 1, d), packed
    return (struct strides){TRACE_N * D, D, D};
}

// ---- device memory -------------------------------------------------------------------------

static void need(cudaError_t error) {
    if (error != cudaSuccess) fail("CUDA says ", cudaGetErrorName(error));
}

static void to_gpu(const char* name, const void* from, size_t bytes) {
    need(cudaMalloc(&find(name)->gpu, bytes));
    need(from ? cudaMemcpy(run_gpu(name), from, bytes, cudaMemcpyHostToDevice)
              : cudaMemset(run_gpu(name), 0xff, bytes));  // NaN where nobody writes
}

static enum dtype dtype(void) {
    return now->bf16 ? BF16 : F16;
}

static void to_gpu_rows(const char* name, const float* from, int rows) {
    uint16_t halves[TRACE_N * D];
    for (int e = 0; e < rows * D; e++) dtype_store(dtype(), &halves[e], from[e]);
    to_gpu(name, halves, (size_t)(rows * D) * sizeof *halves);
}

static void nothing_to_gpu_rows(const char* name, int rows) {
    to_gpu(name, NULL, (size_t)(rows * D) * sizeof(uint16_t));
}

static void from_gpu(void* to, const char* name, size_t bytes) {
    need(cudaMemcpy(to, run_gpu(name), bytes, cudaMemcpyDeviceToHost));
}

static void from_gpu_rows(float* to, const char* name, int rows) {
    uint16_t halves[TRACE_N * D];
    from_gpu(halves, name, (size_t)(rows * D) * sizeof *halves);
    for (int e = 0; e < rows * D; e++) to[e] = (float)dtype_load(dtype(), &halves[e]);
}

// ---- JSON ----------------------------------------------------------------------------------

// JSON has no word for NaN and infinity.
static json_t* number(float x) {
    return isnan(x)   ? json_string("nan")
           : isinf(x) ? json_string(x < 0 ? "-inf" : "inf")
                      : json_real(x);
}

// rows x columns elements of fp32, `step` floats from one to the next; columns = 0: a list, not a
// matrix.
static json_t* numbers(const float* first, size_t step, int rows, int columns) {
    json_t* list = json_array();
    for (int n = 0; n < rows; n++)
        json_array_append_new(
            list, columns ? numbers(first + (size_t)(n * columns) * step, step, columns, 0)
                          : number(first[(size_t)n * step]));
    return list;
}

// Prints `, "name": value` (no comma for the first), the value on the same line.
static void field(const char* before, const char* name, json_t* value) {
    printf("%s\"%s\": ", before, name);
    json_dumpf(value, stdout, JSON_ENCODE_ANY | JSON_REAL_PRECISION(9));
    json_decref(value);
}

static json_t* mask(void) {
    if (!now->mask) return json_null();
    json_t* rows = json_array();
    for (int r = 0; r < TRACE_TILES; r++) {
        json_t* row = json_array();
        for (int c = 0; c < TRACE_TILES; c++)
            json_array_append_new(row, json_integer(now->mask[r * TRACE_TILES + c]));
        json_array_append_new(rows, row);
    }
    return rows;
}

// The threads of a row hold copies of m, l and alpha, which are equal if the kernel has no race.
static void check_copies(const struct trace_element* row) {
    for (int j = 1; j < TRACE_BLOCK; j++)
        if (memcmp(&row[j].m, &row[0].m, 3 * sizeof row->m) != 0)
            fail("the threads of a row do not agree on m, l and alpha in case ", now->name);
}

// A float of every thread, as a tile or, with columns = 0, one of each row.
static void tile_field(const char* name, const float* first, int columns) {
    size_t step = sizeof(struct trace_element) / sizeof(float);
    if (columns == 0) step *= TRACE_BLOCK;
    field(", ", name, numbers(first, step, TRACE_BLOCK, columns));
}

static void print_step(const char* before, int q, int k, trace_record* record) {
    struct trace_element* tile = (*record)[q][k][0];
    printf("%s\n  {\"q_tile\": %d, \"k_tile\": %d", before, q, k);
    tile_field("S", &tile->S, TRACE_BLOCK);
    if (now->backward) {
        tile_field("P", &tile->P, TRACE_BLOCK);
        tile_field("dP", &tile->dP, TRACE_BLOCK);
        tile_field("dS", &tile->dS, TRACE_BLOCK);
        tile_field("dQ", &tile->dQ, TRACE_BLOCK);
        tile_field("dK", &tile->dK, TRACE_BLOCK);
        tile_field("dV", &tile->dV, TRACE_BLOCK);
    } else {
        for (int i = 0; i < TRACE_BLOCK; i++) check_copies(tile + i * TRACE_BLOCK);
        tile_field("m", &tile->m, 0);
        tile_field("l", &tile->l, 0);
        tile_field("alpha", &tile->alpha, 0);
        tile_field("O", &tile->O, TRACE_BLOCK);
    }
    printf("}");
}

// The tiles in the order in which a block computes them: forward, the keys of a tile of queries
// from the first; backward, the queries of a tile of keys from the last.
static void print_steps(trace_record* record) {
    int steps = 0;
    printf(",\n  \"steps\": [");
    for (int n = 0; n < TRACE_TILES * TRACE_TILES; n++) {
        int block = n / TRACE_TILES, tile = n % TRACE_TILES;
        int q = now->backward ? TRACE_TILES - 1 - tile : block;
        int k = now->backward ? block : tile;
        if ((*record)[q][k][0][0].visited) print_step(steps++ ? "," : "", q, k, record);
    }
    printf("]");
}

// ---- a case --------------------------------------------------------------------------------

static void print_rows(const char* name, const float* rows, int count) {
    field(",\n  ", name, numbers(rows, 1, count, D));
}

static void run(const char* before) {
    static trace_record record;
    static const uint8_t all[TRACE_TILES * TRACE_TILES];
    float O[TRACE_N * D], LSE[TRACE_N], dQ[TRACE_N * D], dK[TRACE_N * D], dV[TRACE_N * D];
    to_gpu_rows("Q", in.Q, now->N_q);
    to_gpu_rows("K", in.K, now->N_k);
    to_gpu_rows("V", in.V, now->N_k);
    if (now->backward) {
        attend(O, LSE);
        to_gpu_rows("O", O, now->N_q);
        to_gpu_rows("dO", in.dO, now->N_q);
        nothing_to_gpu_rows("dQ", now->N_q);
        nothing_to_gpu_rows("dK", now->N_k);
        nothing_to_gpu_rows("dV", now->N_k);
    } else {
        nothing_to_gpu_rows("O", now->N_q);
    }
    to_gpu("LSE", now->backward ? LSE : NULL, (size_t)now->N_q * sizeof(float));
    to_gpu("mask", now->mask ? now->mask : all, sizeof all);
    to_gpu("workspace", NULL, WORKSPACE);
    int status = call();
    if (status != COURSE_OK) fail("the launcher refuses the case ", now->name);
    need(cudaDeviceSynchronize());
    if (trace_take(&record) != 0) fail("nothing can be read of the case ", now->name);

    if (now->backward) {
        from_gpu_rows(dQ, "dQ", now->N_q);
        from_gpu_rows(dK, "dK", now->N_k);
        from_gpu_rows(dV, "dV", now->N_k);
    } else {
        from_gpu_rows(O, "O", now->N_q);
        from_gpu(LSE, "LSE", (size_t)now->N_q * sizeof *LSE);
    }
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++) {
        need(cudaFree(arrays[i].gpu));
        arrays[i].gpu = NULL;
    }

    printf("%s\n {", before);
    field("", "name", json_string(now->name));
    field(", ", "dtype", json_string(now->bf16 ? "bf16" : "fp16"));
    field(", ", "N_q", json_integer(now->N_q));
    field(", ", "N_k", json_integer(now->N_k));
    field(", ", "d", json_integer(D));
    field(", ", "block_q", json_integer(TRACE_BLOCK));
    field(", ", "block_k", json_integer(TRACE_BLOCK));
    field(", ", "scale", json_real(SCALE));
    field(", ", "causal", json_boolean(now->causal));
    field(", ", "backward", json_boolean(now->backward));
    field(", ", "mask", mask());
    print_rows("Q", in.Q, now->N_q);
    print_rows("K", in.K, now->N_k);
    print_rows("V", in.V, now->N_k);
    if (now->backward) print_rows("dO", in.dO, now->N_q);
    print_steps(&record);
    print_rows("O", O, now->N_q);
    field(",\n  ", "LSE", numbers(LSE, 1, now->N_q, 0));
    if (now->backward) {
        print_rows("dQ", dQ, now->N_q);
        print_rows("dK", dK, now->N_k);
        print_rows("dV", dV, now->N_k);
    }
    printf("}");
}

int main(int argc, char** argv) {
    if (argc != 3) fail("usage: program LESSON FILE", "");
    draw_all();
    printf("{");
    field("", "version", json_integer(1));
    field(", ", "lesson", json_string(argv[1]));
    field(", ", "file", json_string(argv[2]));
    printf(", \"cases\": [");
    for (int c = 0; c < trace_case_count; c++) {
        now = &trace_cases[c];
        run(c ? "," : "");
    }
    printf("]}\n");
    return 0;
}
