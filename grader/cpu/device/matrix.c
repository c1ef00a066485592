// Matrix instructions of a warp: ldmatrix and mma.sync. The lanes bring their operands as they do
// on a GPU, each its share; the last one to come computes for all. Lane l has g = l / 4 and t = l %
// 4.
#include <math.h>
#include <stdio.h>
#include <string.h>
#include "base/wide.h"
#include "cpu/device/allocations.h"
#include "cpu/device/hopper.h"
#include "cpu/device/report.h"
#include "cpu/device/shared_memory.h"
#include "cpu/device/warp.h"
#include "cpu/device/watcher.h"
#include "cpu/include/cudev.h"

enum { ROW_BYTES = 16 };  // of an 8 x 8 matrix of 16-bit numbers

// The worker, if a kernel calls. The results go to the thread's own variables, as in ptx.h:
// elsewhere the watchers would not see them.
static struct worker* local(const void* p, const char* what) {
    struct worker* w = cudev_in_kernel(what);
    const char* stacks = STACK_BASE + (size_t)w->number * WORKER_STACKS;
    if ((size_t)((const char*)p - stacks) < WORKER_STACKS - sizeof(struct cudev_mma)) return w;
    cudev_report_begin("bad_address", "%s is to write to %p, which is no register", what, p);
    cudev_report_launch(w);
    cudev_report_add("  next: call the functions of ptx.h, not what is behind them\n");
    cudev_report_end(EXIT_DIAGNOSIS);
}

// ---- mma.sync.aligned.m16n8k16 -----------------------------------------------------------------

// Where the elements of a lane's share lie (PTX ISA, fragments of m16n8k16).
static unsigned row_of_A(unsigned g, unsigned e) {
    return g + 8 * (e >> 1 & 1);
}
static unsigned col_of_A(unsigned t, unsigned e) {
    return 2 * t + (e & 1) + 8 * (e >> 2);
}
static unsigned row_of_B(unsigned t, unsigned e) {
    return 2 * t + (e & 1) + 8 * (e >> 1);
}
static unsigned row_of_C(unsigned g, unsigned e) {
    return g + 8 * (e >> 1);
}
static unsigned col_of_C(unsigned t, unsigned e) {
    return 2 * t + (e & 1);
}

static double (*altered)(double a, double b);
static void (*open_altered)(int open);

void cudev_alter_products(double (*product)(double a, double b), void (*open)(int open)) {
    altered = product;
    open_altered = open;
    cudev_alter_wgmma(product, open);
}

static int of_wgmma_alone;

void cudev_alter_wgmma_alone(int alone) {
    of_wgmma_alone = alone;
}

// Half a row of B or C, which the compiler keeps in one register.
typedef double half_row __attribute__((vector_size(4 * sizeof(double))));

static void multiply_altered(double A[16][16], half_row B[16][2], half_row C[16][2]) {
    if (open_altered) open_altered(1);
    for (unsigned i = 0; i < 16; i++)
        for (unsigned k = 0; k < 16; k++)
            for (unsigned n = 0; n < 8; n++)
                C[i][n / 4][n % 4] += altered(A[i][k], B[k][n / 4][n % 4]);
    if (open_altered) open_altered(0);
}

// Four rows of C at once: a sum waits for its last term.
static WIDE void multiply_rows(double A[16][16], half_row B[16][2], half_row C[16][2]) {
    for (unsigned i = 0; i < 16; i += 4) {
        half_row a0 = C[i][0], a1 = C[i][1], b0 = C[i + 1][0], b1 = C[i + 1][1];
        half_row c0 = C[i + 2][0], c1 = C[i + 2][1], d0 = C[i + 3][0], d1 = C[i + 3][1];
        for (unsigned k = 0; k < 16; k++) {
            const half_row first = B[k][0], second = B[k][1];
            a0 += A[i][k] * first, a1 += A[i][k] * second;
            b0 += A[i + 1][k] * first, b1 += A[i + 1][k] * second;
            c0 += A[i + 2][k] * first, c1 += A[i + 2][k] * second;
            d0 += A[i + 3][k] * first, d1 += A[i + 3][k] * second;
        }
        C[i][0] = a0, C[i][1] = a1, C[i + 1][0] = b0, C[i + 1][1] = b1;
        C[i + 2][0] = c0, C[i + 2][1] = c1, C[i + 3][0] = d0, C[i + 3][1] = d1;
    }
}

// D += A B for the whole warp. Products are exact in double, and their sum is nearly exact: it is
// rounded once. A GPU adds in small groups and drops bits; its NaN is 0x7fffffff, and so is this.
static void multiply(const struct lane* lane) {
    double A[16][16];
    half_row B[16][2], C[16][2];
    for (unsigned l = 0; l < WARP_SIZE; l++) {
        const struct cudev_mma* own = (const struct cudev_mma*)(uintptr_t)lane[l].value;
        unsigned g = l / 4, t = l % 4;
        for (unsigned e = 0; e < 8; e++) A[row_of_A(g, e)][col_of_A(t, e)] = (double)own->a[e];
        for (unsigned e = 0; e < 4; e++) B[row_of_B(t, e)][g / 4][g % 4] = (double)own->b[e];
        for (unsigned e = 0; e < 4; e++) {
            const unsigned n = col_of_C(t, e);
            C[row_of_C(g, e)][n / 4][n % 4] = (double)own->d[e];
        }
    }
    if (altered && !of_wgmma_alone)
        multiply_altered(A, B, C);
    else
        multiply_rows(A, B, C);
    for (unsigned l = 0; l < WARP_SIZE; l++) {
        struct cudev_mma* own = (struct cudev_mma*)(uintptr_t)lane[l].value;
        unsigned g = l / 4, t = l % 4;
        for (unsigned e = 0; e < 4; e++) {
            const unsigned n = col_of_C(t, e);
            float sum = (float)C[row_of_C(g, e)][n / 4][n % 4];
            if (isnan(sum)) memset(&sum, 0xff, sizeof sum), sum = copysignf(sum, 1);
            own->d[e] = sum;
        }
    }
}

static const char* text_of_mma(struct worker* w, unsigned half, unsigned width) {
    (void)w, (void)width;
    return half ? "mma_m16n8k16_fp16()" : "mma_m16n8k16_bf16()";
}

static bool complete_mma(struct worker* w, unsigned warp, uint32_t lanes) {
    (void)lanes;
    struct lane* lane = cudev_lanes(w, warp);
    multiply(lane);
    const struct cudev_mma* first = (const struct cudev_mma*)(uintptr_t)lane->value;
    w->met.products++;
    if (w->watch) cudev_watcher->multiplies(w, first->pc);
    return true;
}

static const struct warp_function mma = {  // arg: fp16
    .text = text_of_mma,
    .complete = complete_mma,
    .whole_warp = true,
    .with_all_32 = true};

void cudev_multiply(struct cudev_mma* operands, int half, const char* file, int line) {
    struct worker* w = local(operands, "mma_m16n8k16()");
    operands->pc = __builtin_return_address(0);
    cudev_warp_call(w, &mma, ~0u, (uintptr_t)operands, half != 0, 0, file, line);
}

// ---- ldmatrix.sync.aligned.m8n8 ----------------------------------------------------------------

struct load {
    const char* row;  // of matrix lane / 8, number lane % 8
    unsigned* words;
};

static const char* row_at(const struct lane* lane, unsigned matrix, unsigned row) {
    return ((const struct load*)(uintptr_t)lane[8 * matrix + row].value)->row;
}

// Each lane gets two neighbours of each matrix: of row g, or transposed of column g.
static void load(const struct lane* lane) {
    unsigned matrices = lane[0].arg;
    bool transposed = lane[0].width != 0;
    for (unsigned l = 0; l < WARP_SIZE; l++) {
        unsigned* words = ((const struct load*)(uintptr_t)lane[l].value)->words;
        unsigned g = l / 4, t = l % 4;
        for (unsigned i = 0; i < matrices; i++) {
            uint16_t pair[2];
            if (transposed) {
                memcpy(&pair[0], row_at(lane, i, 2 * t) + 2 * g, 2);
                memcpy(&pair[1], row_at(lane, i, 2 * t + 1) + 2 * g, 2);
            } else {
                memcpy(pair, row_at(lane, i, g) + 4 * t, 4);
            }
            words[i] = (unsigned)pair[1] << 16 | pair[0];
        }
    }
}

// verb: "ld" or "st"
static void check_row(struct worker* w, const char* verb, const void* row, unsigned matrices,
                      const char* file, int line) {
    char what[300] = "a NULL pointer";
    bool shared = cudev_in_window(w, row, ROW_BYTES);
    if (shared && (uintptr_t)row % ROW_BYTES == 0) return;
    if ((uintptr_t)row >= 4096) cudev_describe_address(what, sizeof what, row);
    cudev_report_begin(shared ? "misaligned" : "bad_address",
                       shared ? "%smatrix_x%u() at %s:%d: the row of thread %s starts at %p, no "
                                "multiple of 16"
                              : "%smatrix_x%u() at %s:%d: the row of thread %s is at %p, which is "
                                "not shared memory (%s)",
                       verb, matrices, file, line, cudev_thread_name(w, cudev_current(w)), row,
                       what);
    cudev_report_launch(w);
    cudev_report_add(
        "  next: lane l gives the address of row l %% 8 of matrix l / 8: 16 bytes of a "
        "__shared__ array with __align__(16), whose row length is a multiple of 16 "
        "bytes\n");
    cudev_report_end(EXIT_DIAGNOSIS);
}

static const char* text_of_load(struct worker* w, unsigned matrices, unsigned transposed) {
    static const char* const loads[2][3] = {
        {"ldmatrix_x1()", "ldmatrix_x2()", "ldmatrix_x4()"},
        {"ldmatrix_x1_trans()", "ldmatrix_x2_trans()", "ldmatrix_x4_trans()"},
    };
    (void)w;
    return loads[transposed][matrices / 2];
}

static bool complete_load(struct worker* w, unsigned warp, uint32_t lanes) {
    (void)lanes;
    load(cudev_lanes(w, warp));
    return true;
}

static const struct warp_function ldmatrix = {  // arg: the number of matrices; width: transposed
    .text = text_of_load,
    .complete = complete_load,
    .whole_warp = true,
    .with_all_32 = true};

void cudev_load_matrices(unsigned* words, const void* row, unsigned matrices, int transposed,
                         const char* file, int line) {
    struct worker* w = local(words, "ldmatrix()");
    if (matrices != 1 && matrices != 2) matrices = 4;
    const void* pc = __builtin_return_address(0);
    struct load own = {row, words};
    // the rows of the other lanes are not looked at
    w->met.matrices += matrices;
    if (cudev_current(w) % WARP_SIZE < 8 * matrices) {
        if (w->watch) cudev_watcher->matrix_row(w, row, pc);
        check_row(w, "ld", row, matrices, file, line);
    }
    cudev_warp_call(w, &ldmatrix, ~0u, (uintptr_t)&own, matrices, transposed != 0, file, line);
}

// ---- stmatrix.sync.aligned.m8n8 ----------------------------------------------------------------

struct store {
    char* row;
    const unsigned* words;
};

static const struct store* stored(const struct lane* lane) {
    return (const struct store*)(uintptr_t)lane->value;
}

static void put(char* row, unsigned at, unsigned bits) {
    uint16_t number = (uint16_t)bits;
    memcpy(row + 2 * at, &number, sizeof number);
}

static bool complete_store(struct worker* w, unsigned warp, uint32_t lanes) {
    (void)lanes;
    const struct lane* lane = cudev_lanes(w, warp);
    bool transposed = lane[0].width != 0;
    for (unsigned l = 0; l < WARP_SIZE; l++)
        for (unsigned i = 0; i < lane[0].arg; i++)
            for (unsigned e = 0; e < 2; e++) {
                unsigned g = l / 4, t = 2 * (l % 4) + e, row = transposed ? t : g;
                put(stored(&lane[8 * i + row])->row, transposed ? g : t,
                    stored(&lane[l])->words[i] >> 16 * e);
            }
    return true;
}

static const char* text_of_store(struct worker* w, unsigned matrices, unsigned transposed) {
    static const char* const stores[2][2] = {{"stmatrix_x2()", "stmatrix_x4()"},
                                             {"stmatrix_x2_trans()", "stmatrix_x4_trans()"}};
    (void)w;
    return stores[transposed][matrices / 4];
}

static const struct warp_function stmatrix = {  // arg: the number of matrices; width: transposed
    .text = text_of_store,
    .complete = complete_store,
    .whole_warp = true,
    .with_all_32 = true};

void cudev_store_matrices(void* row, const unsigned* words, unsigned matrices, int transposed,
                          const char* file, int line) {
    struct worker* w = cudev_in_hopper("stmatrix()", file, line);
    if (matrices != 2) matrices = 4;
    const void* pc = __builtin_return_address(0);
    struct store own = {row, words};
    if (cudev_current(w) % WARP_SIZE < 8 * matrices) {
        if (w->watch) cudev_watcher->matrix_row_stored(w, row, pc);
        check_row(w, "st", row, matrices, file, line);
    }
    cudev_warp_call(w, &stmatrix, ~0u, (uintptr_t)&own, matrices, transposed != 0, file, line);
}
