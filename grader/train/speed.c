// speed.c: see speed.h.
#include "train/speed.h"

#include <cuda_runtime_api.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { LAST = 1000 };

int speed_begin(struct speed* speed, int64_t room) {
    *speed = (struct speed){.room = room};
    speed->seconds = calloc((size_t)room, sizeof *speed->seconds);
    speed->sorted = calloc(LAST, sizeof *speed->sorted);
    if (speed->seconds && speed->sorted) return 0;
    fprintf(stderr, "make train: there is no memory for %lld times.\n", (long long)room);
    return -1;
}

void speed_end(struct speed* speed) {
    free(speed->seconds), free(speed->sorted);
}

void speed_add(struct speed* speed, double seconds) {
    if (speed->steps < speed->room) speed->seconds[speed->steps++] = seconds;
}

static int ascending(const void* a, const void* b) {
    double x = *(const double*)a, y = *(const double*)b;
    return (x > y) - (x < y);
}

// Puts the times that count in order; returns how many.
static int64_t sort(const struct speed* speed) {
    int64_t first = speed->steps > 1;
    if (speed->steps - first > LAST) first = speed->steps - LAST;
    const int64_t n = speed->steps - first;
    if (n > 0) memcpy(speed->sorted, speed->seconds + first, (size_t)n * sizeof *speed->sorted);
    qsort(speed->sorted, (size_t)n, sizeof *speed->sorted, ascending);
    return n;
}

double speed_median(const struct speed* speed) {
    const int64_t n = sort(speed);
    return n > 0 ? speed->sorted[n / 2] : NAN;
}

static void machine(FILE* file) {
    struct cudaDeviceProp properties;
    int runtime = 0;
    char date[16];
    const time_t today = time(NULL);
    const char* driver = getenv("BENCH_DRIVER");  // the script asks nvidia-smi
    if (cudaGetDeviceProperties(&properties, 0) != cudaSuccess) properties.name[0] = '\0';
    cudaRuntimeGetVersion(&runtime);
    strftime(date, sizeof date, "%Y-%m-%d", gmtime(&today));
    fprintf(file, "%.60s,%.30s,%d.%d,,%s\n", properties.name, driver ? driver : "", runtime / 1000,
            runtime % 1000 / 10, date);
}

int speed_write(const char* path, const struct speed* speed, const struct run_state* s, int gpus,
                int texts, int N) {
    FILE* file = fopen(path, "w");
    const double median = speed_median(speed);
    const int64_t n = sort(speed);
    if (file) {
        fprintf(file, "model,version,gpus,texts,tokens,steps,median_ms,low_ms,high_ms,"
                      "tokens_per_s,loss,held_out,gpu,driver,cuda,torch,date\n");
        if (n > 0)
            fprintf(file, "%s,the course,%d,%d,%d,%lld,%.3f,%.3f,%.3f,%.0f,%.4f,%.4f,", s->model,
                    gpus, texts, N, (long long)s->step, 1e3 * median, 1e3 * speed->sorted[n / 10],
                    1e3 * speed->sorted[n - 1 - n / 10], texts * N / median, s->losses[s->step],
                    s->held_out[s->step]);
        if (n > 0) machine(file);
        if (fclose(file) == 0) return 0;
    }
    fprintf(stderr, "make train: %s cannot be written: %s.\n", path, strerror(errno));
    return -1;
}
