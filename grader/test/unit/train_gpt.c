// train_gpt.c: the gradients that lesson 29 is graded against, checked by differences: 50
// parameters and inputs of a block are moved a little up and down, and L = sum dY * Y is looked
// at.
#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "29_train_gpt/reference.h"
#include "test/unit/run.h"

enum { LOOKED_AT = 50 };
static const struct block_size size = {2, 5, 16, 2};

static uint64_t state = 29;

// Even in [-1, 1).
static double draw(void) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (double)(state >> 11) * 0x1p-52 - 1;
}

static double* drawn(int64_t n, double mean, double width) {
    double* x = numbers(n);
    for (int64_t i = 0; i < n; i++) x[i] = mean + width * draw();
    return x;
}

struct block {
    struct block_arrays a;
    double* dY;
    int64_t n;
};

static struct block block_drawn(void) {
    const int64_t rows = (int64_t)size.B * size.N, C = size.C;
    struct block b = {.n = rows * C};
    for (int i = 0; i < PARAMETERS; i++) {
        b.a.W[i] = drawn(parameter_count(i, C), i == NORM1 || i == NORM2, i < B_QKV ? 0.5 : 0.4);
        b.a.dW[i] = numbers(parameter_count(i, C));
    }
    b.a.X = drawn(b.n, 0.3, 2), b.dY = drawn(b.n, 0, 1);
    b.a.stats1 = numbers(2 * rows), b.a.stats2 = numbers(2 * rows);
    b.a.QKV = numbers(3 * b.n), b.a.O = numbers(b.n), b.a.X_mid = numbers(b.n);
    b.a.Z = numbers(4 * b.n), b.a.LSE = numbers(rows * size.H), b.a.dX = numbers(b.n);
    return b;
}

static void block_free(struct block* b) {
    for (int i = 0; i < PARAMETERS; i++) free(b->a.W[i]), free(b->a.dW[i]);
    free(b->a.X), free(b->dY), free(b->a.stats1), free(b->a.stats2), free(b->a.QKV);
    free(b->a.O), free(b->a.X_mid), free(b->a.Z), free(b->a.LSE), free(b->a.dX);
}

static double loss(const struct block* b) {
    double *Y = numbers(b->n), sum = 0;
    block_forward(&b->a, size, Y, false);
    for (int64_t e = 0; e < b->n; e++) sum += b->dY[e] * Y[e];
    free(Y);
    return sum;
}

START_TEST(test_differences) {
    struct block b = block_drawn();
    loss(&b);  // fills in what is kept
    memcpy(b.a.dX, b.dY, (size_t)b.n * sizeof *b.dY);
    block_backward(&b.a, size, RIGHT, false);
    for (int k = 0; k < LOOKED_AT; k++) {
        const int i = k % (PARAMETERS + 1);  // the last one is X
        double* x = i < PARAMETERS ? b.a.W[i] : b.a.X;
        const double* gradient = i < PARAMETERS ? b.a.dW[i] : b.a.dX;
        const int64_t count = i < PARAMETERS ? parameter_count(i, size.C) : b.n;
        const int64_t e = (int64_t)((draw() + 1) / 2 * (double)count);
        const double was = x[e], h = 1e-5;
        x[e] = was + h;
        const double up = loss(&b);
        x[e] = was - h;
        const double difference = (up - loss(&b)) / (2 * h);
        x[e] = was;
        // The difference is off by h^2 times a third derivative, and by 1e-16 / h times L.
        ck_assert_msg(fabs(difference - gradient[e]) <= 1e-6 * (1 + fabs(difference)),
                      "array %d, element %lld: gradient %.9g, by differences %.9g", i, (long long)e,
                      gradient[e], difference);
    }
    block_free(&b);
}
END_TEST

// A slip is another gradient: what differences would have told.
START_TEST(test_slips_differ) {
    for (int slip = RIGHT + 1; slip <= ONE_HEAD; slip++) {
        struct block right = block_drawn();
        loss(&right);
        struct block wrong = right;
        wrong.a.dX = numbers(right.n);
        for (int i = 0; i < PARAMETERS; i++) wrong.a.dW[i] = numbers(parameter_count(i, size.C));
        memcpy(right.a.dX, right.dY, (size_t)right.n * sizeof(double));
        memcpy(wrong.a.dX, right.dY, (size_t)right.n * sizeof(double));
        block_backward(&right.a, size, RIGHT, false);
        block_backward(&wrong.a, size, (enum slip)slip, false);
        double most = 0;
        for (int64_t e = 0; e < right.n; e++)
            most = fmax(most, fabs(right.a.dX[e] - wrong.a.dX[e]));
        for (int i = 0; i < PARAMETERS; i++)
            for (int64_t e = 0; e < parameter_count(i, size.C); e++)
                most = fmax(most, fabs(right.a.dW[i][e] - wrong.a.dW[i][e]));
        ck_assert_msg(most > 1e-4, "slip %d changes nothing", slip);
        for (int i = 0; i < PARAMETERS; i++) free(wrong.a.dW[i]);
        free(wrong.a.dX);
        block_free(&right);
    }
}
END_TEST

int main(void) {
    Suite* suite = suite_create("train_gpt");
    TCase* all = tcase_create("all");
    tcase_add_test(all, test_differences);
    tcase_add_test(all, test_slips_differ);
    suite_add_tcase(suite, all);
    return run_suite(suite, 2);
}
