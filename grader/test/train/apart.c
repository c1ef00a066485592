// apart.c: how far two checkpoints of the same training, on one GPU and on several, are apart, and
// how far they may be. usage: apart ONE SEVERAL GPUS
//
// The gradients of several GPUs are sums over a part of the texts each, rounded to bf16, and their
// mean, rounded once more; those of one GPU are rounded once. u = 2^-8 is the largest error of one
// rounding. Parts that point in unrelated directions are sqrt(GPUS) as long as their mean. So after
// the first step a gradient g, and m = (1 - beta1) g with it, is off by at most
//     u (1 + sqrt(GPUS)) |g|.
// The first loss is that of the same parameters, but for the order of its sum.
//
// AdamW's first steps move a parameter by about lr, up or down as its gradient says, whatever its
// size. Rounding turns that around only where the gradient is no larger than its error, and moves
// the loss there by less than 2 lr times that error. So the later losses differ by at most
//     2 lr u (1 + sqrt(GPUS)) sum |g|,
// where |g| is summed over parameters and steps, which is at least sum |m| / (1 - beta1).
#include "train/checkpoint.c"  // its head

#include <math.h>

static struct run_state checkpoint_of(const char* path) {
    struct run_state s = {0};
    struct head h;
    FILE* file = fopen(path, "rb");
    if (!file || fread(&h, sizeof h, 1, file) != 1) exit(2);
    s.parameters = h.parameters, s.steps = h.steps, s.step = h.step;
    s.losses = calloc((size_t)h.steps + 1, sizeof(float));
    s.held_out = calloc((size_t)h.steps + 1, sizeof(float));
    float** const arrays[] = {&s.w, &s.mean, &s.square};
    for (int i = 0; i < 3; i++) *arrays[i] = calloc((size_t)h.parameters, sizeof(float));
    if (!move_arrays(file, &s, false)) exit(2);
    fclose(file);
    return s;
}

static int judge(const char* what, double apart, double allowed) {
    const bool good = apart <= allowed;  // NaN is not
    printf("%s: %.3g, %.3g is allowed%s\n", what, apart, allowed, good ? "" : ": TOO MUCH");
    return good ? 0 : 1;
}

int main(int argc, char** argv) {
    if (argc != 4) return 2;
    const struct run_state one = checkpoint_of(argv[1]), several = checkpoint_of(argv[2]);
    const double u = 0x1p-8, lr = 6e-3, parts = atof(argv[3]), noise = u * (1 + sqrt(parts));
    if (one.parameters != several.parameters || one.steps != several.steps || one.step < 1 ||
        several.step != one.step)
        return 2;
    double squares = 0, difference = 0, sum = 0;
    for (int64_t i = 0; i < one.parameters; i++) {
        const double a = one.mean[i], b = several.mean[i];
        squares += a * a, difference += (a - b) * (a - b), sum += fabs(a);
    }
    int bad = one.step > 1 ? 0 : judge("m, of its length", sqrt(difference / squares), noise);
    bad |= judge("the first loss, of it", fabs(several.losses[1] / one.losses[1] - 1), 0x1p-20);
    for (int64_t step = 2; step <= one.step; step++) {
        char what[40];
        snprintf(what, sizeof what, "loss of step %lld", (long long)step);
        bad |=
            judge(what, fabs(several.losses[step] - one.losses[step]), 2 * lr * noise * 10 * sum);
    }
    return bad;
}
