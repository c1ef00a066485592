// record.cu: runs the six kernels of lesson 23 at the sizes of its tables. Linked once with the
// kernels as they are given, once with the cured ones.
//
//   record check    small sizes, every output compared with a reference in double: for any device
//   record once     each kernel once, and nothing else: for Nsight Compute
//   record time     times by CUDA events, as CSV: kernel,median_ms,low_ms,high_ms,runs. Some
//                   outputs of each are compared
//   record work     what the tasks ask for, as CSV: kernel,bytes,operations. bytes: inputs and
//                   outputs moved once. Runs nothing
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "profiling.h"
#include "read.h"

enum { RUNS = 30, SAMPLES = 2000, DIM = 128, STEPS = 32, CHANNELS = 1024 };

#define DECAY 0.9f
#define L2_BYTES ((size_t)256 << 20)  // more than the L2 cache of any card

// One kernel at one size. n: keys, rows, steps, numbers, systems, bytes.
struct job {
    const char* name;
    int64_t small, large;           // n
    size_t in, more, out;           // bytes for each n; of `more`, once
    double operations;              // for each n: additions, multiplications and the like
    void (*fill)(struct job* job);  // in_cpu, more_cpu
    int (*run)(struct job* job);    // launches
    double (*error)(struct job* job, int64_t e);  // of output e, relative to what it may be
    size_t element;                               // bytes of an output
    int64_t n;
    char *in_cpu, *more_cpu, *out_cpu, *in_gpu, *more_gpu, *out_gpu;
};

static void must(cudaError_t error, const char* what) {
    if (error == cudaSuccess) return;
    fprintf(stderr, "record: %s: %s\n", what, cudaGetErrorString(error));
    exit(1);
}

// ---- data

static uint64_t state = 1;

// Evenly in [-1, 1).
static float uniform(void) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (float)(int32_t)(state >> 32) * 0x1p-31f;
}

static void fill_floats(struct job* job) {
    float *in = (float*)job->in_cpu, *more = (float*)job->more_cpu;
    for (size_t i = 0; i < job->in * job->n / sizeof(float); i++) in[i] = uniform();
    for (size_t i = 0; i < job->more / sizeof(float); i++) more[i] = uniform();
}

// A slow wave. What is recorded has no gaps; small ones have a few.
static void fill_wave(struct job* job) {
    float* x = (float*)job->in_cpu;
    for (int64_t i = 0; i < job->n; i++) x[i] = sinf((float)(i % 4096) * 0.05f);
    for (int64_t i = 777; i < job->n && job->n == job->small; i += 10000) x[i] = NAN;
}

static void fill_bodies(struct job* job) {
    fill_floats(job);
    float* body = (float*)job->in_cpu;
    for (int64_t i = 0; i < job->n * BODIES; i++) body[4 * i + 3] = fabsf(body[4 * i + 3]);
}

static void fill_bytes(struct job* job) {
    for (int64_t i = 0; i < job->n; i++) job->in_cpu[i] = (char)(i * 37 + i / 1000);
}

// ---- calls

static int run_scores(struct job* j) {
    return profiling_scores((float*)j->out_gpu, (float*)j->more_gpu, (float*)j->in_gpu, (int)j->n,
                            DIM);
}
static int run_decay(struct job* j) {
    return profiling_decay((float*)j->out_gpu, (float*)j->in_gpu, (int)j->n, STEPS, DECAY);
}
static int run_filter(struct job* j) {
    return profiling_filter((float*)j->out_gpu, (float*)j->in_gpu, (float*)j->more_gpu, (int)j->n,
                            CHANNELS);
}
static int run_gaps(struct job* j) {
    return read_gaps((float*)j->out_gpu, (float*)j->in_gpu, j->n);
}
static int run_forces(struct job* j) {
    return read_forces((float*)j->out_gpu, (float*)j->in_gpu, (int)j->n);
}
static int run_norm(struct job* j) {
    return read_norm((int64_t*)j->out_gpu, (int8_t*)j->in_gpu, j->n);
}

// ---- references: |got - want| / tolerance

// The tolerances are those of sums in fp32: n eps at worst.

static double off(double got, double want, double tolerance) {
    return fabs(got - want) / tolerance;
}

static double error_scores(struct job* j, int64_t key) {
    const float *q = (float*)j->more_cpu, *K = (float*)j->in_cpu + key * DIM;
    double sum = 0;
    for (int x = 0; x < DIM; x++) sum += (double)q[x] * K[x];
    return off(((float*)j->out_cpu)[key], sum, DIM * 0x1p-24 * DIM);
}

static double error_decay(struct job* j, int64_t e) {
    const float* x = (float*)j->in_cpu + e / STEPS * STEPS;
    double last = 0;
    for (int64_t t = 0; t <= e % STEPS; t++) last = (double)DECAY * last + x[t];
    return off(((float*)j->out_cpu)[e], last, 10 * STEPS * 0x1p-24);
}

static double error_filter(struct job* j, int64_t e) {
    const float *x = (float*)j->in_cpu, *w = (float*)j->more_cpu;
    int64_t t = e / CHANNELS, c = e % CHANNELS;
    double sum = 0;
    for (int k = 0; k < PROFILING_TAPS && k <= t; k++)
        sum += (double)w[k * CHANNELS + c] * x[(t - k) * CHANNELS + c];
    return off(((float*)j->out_cpu)[e], sum, PROFILING_TAPS * PROFILING_TAPS * 0x1p-24);
}

// A gap is filled with a number of the wave's size; all else is as it was.
static double error_gaps(struct job* j, int64_t e) {
    float x = ((float*)j->in_cpu)[e], y = ((float*)j->out_cpu)[e];
    return isnan(x) ? off(y, sin((double)(e % 4096) * 0.05), 0.5) : y == x ? 0 : INFINITY;
}

static double error_forces(struct job* j, int64_t e) {
    const float* body = (float*)j->in_cpu + e / (3 * BODIES) * (4 * BODIES);
    const float* own = body + e / 3 % BODIES * 4;
    double sum = 0, size = 0;
    for (int i = 0; i < BODIES; i++) {
        double d[3], square = 0.01;
        for (int k = 0; k < 3; k++) d[k] = (double)body[4 * i + k] - own[k], square += d[k] * d[k];
        double part = body[4 * i + 3] * d[e % 3] / (square * sqrt(square));
        sum += part, size += fabs(part);
    }
    return off(((float*)j->out_cpu)[e], sum, size * BODIES * 0x1p-24);
}

static double error_norm(struct job* j, int64_t e) {
    int64_t sum = 0;
    for (int64_t i = 0; i < j->n; i++) sum += ((int8_t*)j->in_cpu)[i] * ((int8_t*)j->in_cpu)[i];
    return ((int64_t*)j->out_cpu)[e] == sum ? 0 : INFINITY;
}

// Bytes for each n of in; of more; for each n of out (norm has one output).
// A force is counted as 20 operations, by custom.
static struct job jobs[] = {
    {"scores", 1000, 1 << 20, 4 * DIM, 4 * DIM, 4, 2 * DIM, fill_floats, run_scores, error_scores,
     4},
    {"decay", 200, 1 << 21, 4 * STEPS, 0, 4 * STEPS, 2 * STEPS, fill_floats, run_decay, error_decay,
     4},
    {"filter", 300, 1 << 16, 4 * CHANNELS, 4 * PROFILING_TAPS* CHANNELS, 4 * CHANNELS,
     2 * PROFILING_TAPS* CHANNELS, fill_floats, run_filter, error_filter, 4},
    {"gaps", 100000, 1 << 26, 4, 0, 4, 1, fill_wave, run_gaps, error_gaps, 4},
    {"forces", 2, 140, 16 * BODIES, 0, 12 * BODIES, 20.0 * BODIES* BODIES, fill_bodies, run_forces,
     error_forces, 4},
    {"norm", 1 << 20, 1 << 29, 1, 0, 0, 2, fill_bytes, run_norm, error_norm, 8},
};

enum { JOBS = sizeof jobs / sizeof jobs[0] };

static size_t out_bytes(const struct job* job) {
    return job->out ? job->out * job->n : sizeof(int64_t);
}

// ---- runs

static char* on_gpu(const char* from, size_t bytes) {
    void* to = NULL;
    must(cudaMalloc(&to, bytes), "cudaMalloc");
    if (from) must(cudaMemcpy(to, from, bytes, cudaMemcpyHostToDevice), "cudaMemcpy");
    return (char*)to;
}

static void begin(struct job* job, int64_t n) {
    job->n = n;
    job->in_cpu = (char*)malloc(job->in * n);
    job->more_cpu = (char*)malloc(job->more + 1);
    job->out_cpu = (char*)malloc(out_bytes(job));
    if (!job->in_cpu || !job->more_cpu || !job->out_cpu) must(cudaErrorMemoryAllocation, "malloc");
    job->fill(job);
    job->in_gpu = on_gpu(job->in_cpu, job->in * n);
    job->more_gpu = on_gpu(job->more_cpu, job->more + 1);
    job->out_gpu = on_gpu(NULL, out_bytes(job));
}

static void end(struct job* job) {
    cudaFree(job->in_gpu), cudaFree(job->more_gpu), cudaFree(job->out_gpu);
    free(job->in_cpu), free(job->more_cpu), free(job->out_cpu);
}

static void launch(struct job* job) {
    if (job->run(job) != COURSE_OK) must(cudaGetLastError(), job->name);
}

// Ends the program if one of `samples` outputs, all if there are fewer, is wrong.
static void verify(struct job* job, int64_t samples) {
    must(cudaDeviceSynchronize(), job->name);
    must(cudaMemcpy(job->out_cpu, job->out_gpu, out_bytes(job), cudaMemcpyDeviceToHost), job->name);
    int64_t count = out_bytes(job) / job->element, checked = count < samples ? count : samples;
    double worst = 0;
    for (int64_t k = 0; k < checked; k++) {
        int64_t e = checked == count ? k : (int64_t)((double)count * (uniform() + 1) / 2);
        double error = job->error(job, e);
        if (!(error <= 1)) {
            fprintf(stderr, "record: %s: output %lld of %lld is wrong by %g tolerances\n",
                    job->name, (long long)e, (long long)count, error);
            exit(1);
        }
        if (error > worst) worst = error;
    }
    fprintf(stderr, "%s: %lld outputs are right, the worst by %.2g tolerances\n", job->name,
            (long long)checked, worst);
}

static int ascending(const void* a, const void* b) {
    float x = *(const float*)a, y = *(const float*)b;
    return x < y ? -1 : x > y;
}

static void print_times(const char* name, float ms[RUNS]) {
    qsort(ms, RUNS, sizeof ms[0], ascending);
    printf("%s,%.5f,%.5f,%.5f,%d\n", name, (ms[RUNS / 2 - 1] + ms[RUNS / 2]) / 2, ms[RUNS / 4],
           ms[RUNS - 1 - RUNS / 4], RUNS);
    fflush(stdout);
}

static void measure(struct job* job) {
    cudaEvent_t start, stop;
    float ms[RUNS];
    char* flushed = on_gpu(NULL, L2_BYTES);
    must(cudaEventCreate(&start), "cudaEventCreate");
    must(cudaEventCreate(&stop), "cudaEventCreate");
    for (int i = -5; i < RUNS; i++) {
        must(cudaMemset(job->out_gpu, 0xff, out_bytes(job)), "cudaMemset");
        must(cudaMemset(flushed, i, L2_BYTES), "cudaMemset");
        must(cudaEventRecord(start, 0), "cudaEventRecord");
        launch(job);
        must(cudaEventRecord(stop, 0), "cudaEventRecord");
        must(cudaEventSynchronize(stop), job->name);
        float once = 0.0f;
        must(cudaEventElapsedTime(&once, start, stop), "cudaEventElapsedTime");
        if (i >= 0) ms[i] = once;
    }
    verify(job, SAMPLES);
    print_times(job->name, ms);
    cudaFree(flushed), cudaEventDestroy(start), cudaEventDestroy(stop);
}

// What the memory gives to a copy: the roof of the other rows.
#define COPIED ((size_t)512 << 20)  // bytes, read once and written once
static void measure_copy(void) {
    const size_t bytes = COPIED;
    char *from = on_gpu(NULL, bytes), *to = on_gpu(NULL, bytes);
    cudaEvent_t start, stop;
    float ms[RUNS];
    must(cudaEventCreate(&start), "cudaEventCreate");
    must(cudaEventCreate(&stop), "cudaEventCreate");
    must(cudaMemset(from, 1, bytes), "cudaMemset");
    for (int i = -5; i < RUNS; i++) {
        must(cudaEventRecord(start, 0), "cudaEventRecord");
        must(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToDevice, 0), "cudaMemcpyAsync");
        must(cudaEventRecord(stop, 0), "cudaEventRecord");
        must(cudaEventSynchronize(stop), "copy");
        float once = 0.0f;
        must(cudaEventElapsedTime(&once, start, stop), "cudaEventElapsedTime");
        if (i >= 0) ms[i] = once;
    }
    print_times("copy", ms);
    cudaFree(from), cudaFree(to), cudaEventDestroy(start), cudaEventDestroy(stop);
}

static void print_work(void) {
    printf("kernel,bytes,operations\n");
    for (size_t k = 0; k < JOBS; k++) {
        struct job* job = &jobs[k];
        job->n = job->large;
        printf("%s,%lld,%.0f\n", job->name,
               (long long)(job->in * job->n + job->more + out_bytes(job)),
               job->operations * (double)job->n);
    }
    printf("copy,%lld,0\n", 2 * (long long)COPIED);
}

int main(int argc, char** argv) {
    const char* mode = argc == 2 ? argv[1] : "";
    bool check = strcmp(mode, "check") == 0, once = strcmp(mode, "once") == 0;
    bool timed = strcmp(mode, "time") == 0;
    if (strcmp(mode, "work") == 0) {
        print_work();
        return 0;
    }
    if (!check && !once && !timed) {
        fprintf(stderr, "usage: record check|once|time|work\n");
        return 2;
    }
    if (timed) printf("kernel,median_ms,low_ms,high_ms,runs\n");
    for (size_t k = 0; k < JOBS; k++) {
        struct job* job = &jobs[k];
        begin(job, check ? job->small : job->large);
        if (timed) {
            measure(job);
        } else {
            launch(job);
            verify(job, check ? INT64_MAX : SAMPLES);
        }
        end(job);
    }
    if (timed) measure_copy();
    return 0;
}
