// backward_test.c: is the reference of the backward pass the gradient of that of the forward pass?
#include <math.h>
#include <stdlib.h>

#include "attention/backward.h"
#include "attention/forward.h"

// The number whose gradient by O is dO: the sum of dO_ix O_ix, with O from the forward pass. O and
// LSE are room for the arrays.
static double loss(const struct problem* p, double* O, double* LSE) {
    double sum = 0;
    forward_reference(p, false, O, LSE);
    FOR_EACH_QUERY(p, b, h, i)
    sum += dot(p, O + place_in(p, ARRAY_O, b, h, i), row_of(p, ARRAY_dO, b, h, i));
    return sum;
}

// Compares a row of a gradient with
//     dQ_ix = (loss(Q_ix + e) - loss(Q_ix - e)) / 2 e    and so on.
static void test_row(const struct problem* p, enum which a, int64_t b, int64_t h, int64_t n,
                     const double* gradient, double* O, double* LSE) {
    const double e = 0x1p-13;
    for (int64_t x = 0; x < p->d; x++) {
        double *element = row_of(p, a, b, h, n) + x, value = *element;
        *element = value + e;
        double above = loss(p, O, LSE);
        *element = value - e;
        double difference = (above - loss(p, O, LSE)) / (2 * e);
        *element = value;
        if (fabs(difference - gradient[x]) <= 1e-6 * (1 + fabs(difference))) continue;
        check_error(p->check, "the reference: d%c[%d, %d, %d, %d] is %.9g, by differences %.9g",
                    "QKV"[a], (int)b, (int)n, (int)h, (int)x, gradient[x], difference);
    }
}

void backward_test(const struct problem* p) {
    double* gradient[GRADIENTS];
    struct backward right = backward_right(p);
    double* O = check_allocate(p->check, p->array[ARRAY_O].tensor->count, sizeof *O);
    double* LSE = check_allocate(p->check, p->array[ARRAY_LSE].tensor->count, sizeof *LSE);
    for (int a = 0; a < GRADIENTS; a++)
        gradient[a] =
            check_allocate(p->check, p->array[ARRAY_dQ + a].tensor->count, sizeof(double));
    backward(p, &right, false, gradient);
    for (int n = 0; n < GRADIENTS; n++) {
        enum which a = (enum which)n, da = (enum which)(ARRAY_dQ + n);
        for (int64_t b = 0; b < p->B; b++)
            for (int64_t h = 0; h < p->H; h += sharing(p, a))
                for (int64_t row = 0; row < rows_of(p, a); row++)
                    test_row(p, a, b, h, row, gradient[n] + place_in(p, da, b, h, row), O, LSE);
        free(gradient[n]);
    }
    free(O), free(LSE);
}
