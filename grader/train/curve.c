// curve.c: see curve.h.
#include "train/curve.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { ROWS = 14, COLS = 64 };

static int row_of(double loss, double low, double high) {
    double row = (high - loss) / (high - low) * (ROWS - 1);
    return row < 0 ? 0 : row > ROWS - 1 ? ROWS - 1 : (int)lround(row);
}

// The mean of the training's losses of column `col`, and the last held-out loss in it; NaN if there
// is none.
static void column(const struct run_state* s, int col, double* loss, double* held_out) {
    int64_t first = s->step * col / COLS + 1, last = s->step * (col + 1) / COLS;
    double sum = 0;
    *loss = *held_out = NAN;
    for (int64_t i = first; i <= last; i++) {
        sum += s->losses[i];
        if (!isnan(s->held_out[i])) *held_out = s->held_out[i];
    }
    if (last >= first) *loss = sum / (double)(last - first + 1);
}

void curve_print(const struct run_state* s, double bigram) {
    char picture[ROWS][COLS + 1];
    double high = -INFINITY, low = bigram;
    for (int64_t i = 1; i <= s->step; i++) {
        high = fmax(high, s->losses[i]);
        low = fmin(low, s->losses[i]);
    }
    if (!(high > low)) return;  // no step yet, or NaN
    memset(picture, ' ', sizeof picture);
    memset(picture[row_of(bigram, low, high)], '-', COLS);
    for (int col = 0; col < COLS; col++) {
        double loss, held_out;
        column(s, col, &loss, &held_out);
        if (!isnan(loss)) picture[row_of(loss, low, high)][col] = '.';
        if (!isnan(held_out)) picture[row_of(held_out, low, high)][col] = 'o';
    }
    printf("\n  loss, nats a character   . training   o held out   - bigram entropy %.3f\n",
           bigram);
    for (int row = 0; row < ROWS; row++) {
        picture[row][COLS] = '\0';
        printf("  %5.2f |%s\n", high - (high - low) * row / (ROWS - 1), picture[row]);
    }
    printf("        +%.*s\n         1%*lld steps\n", COLS,
           "----------------------------------------------------------------", COLS - 7,
           (long long)s->step);
}

int curve_write(const char* path, const struct run_state* s, double bigram) {
    FILE* file = fopen(path, "w");
    if (file) {
        fprintf(file, "step,loss,held_out,bigram\n");
        for (int64_t i = 1; i <= s->step; i++) {
            fprintf(file, "%lld,%.6f,", (long long)i, s->losses[i]);
            if (!isnan(s->held_out[i])) fprintf(file, "%.6f", s->held_out[i]);
            fprintf(file, ",%.6f\n", bigram);
        }
        if (fclose(file) == 0) return 0;
    }
    fprintf(stderr, "make train: %s cannot be written: %s.\n", path, strerror(errno));
    return -1;
}
