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
static struct { float Q[TRACE_N * D], K[TRACE_N * D], V[TRACE_N * D]; } in;

static void draw_all(void) {
    state = 1;
    float* all[] = {in.Q, in.K, in.V};
    for (int a = 0; a < 3; a++)
        for (int e = 0; e < TRACE_N * D; e++) all[a][e] = draw();
}

// ---- what call.c asks for ------------------------------------------------------------------

static void fail(const char* what, const char* name) {
    fprintf(stderr, "make trace: %s%s\n", what, name);
    exit(1);
}

static struct array {
    const char* name;
    void* gpu;
} arrays[] = {{.name = "Q"},   {.name = "K"},    {.name = "V"},        {.name = "O"},
              {.name = "LSE"}, {.name = "mask"}, {.name = "workspace"}};

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
                 {"backward", 0},
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

static void from_gpu(void* to, const char* name, size_t bytes) {
    need(cudaMemcpy(to, run_gpu(name), bytes, cudaMemcpyDeviceToHost));
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

static void print_step(const char* before, int q, int k, trace_record* record) {
    struct trace_element* tile = (*record)[q][k][0];
    size_t step = sizeof *tile / sizeof(float);
    for (int i = 0; i < TRACE_BLOCK; i++) check_copies(tile + i * TRACE_BLOCK);
    printf("%s\n  {\"q_tile\": %d, \"k_tile\": %d", before, q, k);
    field(", ", "S", numbers(&tile->S, step, TRACE_BLOCK, TRACE_BLOCK));
    field(", ", "m", numbers(&tile->m, step * TRACE_BLOCK, TRACE_BLOCK, 0));
    field(", ", "l", numbers(&tile->l, step * TRACE_BLOCK, TRACE_BLOCK, 0));
    field(", ", "alpha", numbers(&tile->alpha, step * TRACE_BLOCK, TRACE_BLOCK, 0));
    field(", ", "O", numbers(&tile->O, step, TRACE_BLOCK, TRACE_BLOCK));
    printf("}");
}

// ---- a case --------------------------------------------------------------------------------

static void run(const char* before) {
    static trace_record record;
    static const uint8_t all[TRACE_TILES * TRACE_TILES];
    to_gpu_rows("Q", in.Q, now->N_q);
    to_gpu_rows("K", in.K, now->N_k);
    to_gpu_rows("V", in.V, now->N_k);
    to_gpu("O", NULL, (size_t)(now->N_q * D) * sizeof(uint16_t));
    to_gpu("LSE", NULL, (size_t)now->N_q * sizeof(float));
    to_gpu("mask", now->mask ? now->mask : all, sizeof all);
    to_gpu("workspace", NULL, WORKSPACE);
    int status = call();
    if (status != COURSE_OK) fail("the launcher refuses the case ", now->name);
    need(cudaDeviceSynchronize());
    if (trace_take(&record) != 0) fail("nothing can be read of the case ", now->name);

    uint16_t halves[TRACE_N * D];
    float O[TRACE_N * D], LSE[TRACE_N];
    from_gpu(halves, "O", (size_t)(now->N_q * D) * sizeof *halves);
    from_gpu(LSE, "LSE", (size_t)now->N_q * sizeof *LSE);
    for (int e = 0; e < now->N_q * D; e++) O[e] = (float)dtype_load(dtype(), &halves[e]);
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++) need(cudaFree(arrays[i].gpu));

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
    field(", ", "mask", mask());
    field(",\n  ", "Q", numbers(in.Q, 1, now->N_q, D));
    field(",\n  ", "K", numbers(in.K, 1, now->N_k, D));
    field(",\n  ", "V", numbers(in.V, 1, now->N_k, D));
    printf(",\n  \"steps\": [");
    int steps = 0;
    for (int q = 0; q < TRACE_TILES; q++)
        for (int k = 0; k < TRACE_TILES; k++)
            if (record[q][k][0][0].visited) print_step(steps++ ? "," : "", q, k, &record);
    printf("]");
    field(",\n  ", "O", numbers(O, 1, now->N_q, D));
    field(",\n  ", "LSE", numbers(LSE, 1, now->N_q, 0));
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
