// main.c: what `make train` runs: trains a model on a text, and has it write some.
// usage: program --model NAME --text FILE --out FOLDER [--steps N] [--seed N] [--gpus N]
//        [--nccl FILE] [--brief 1]
// --brief 1 is for tests: one batch of held-out text in the end, and nothing is written.
#include <cuda_runtime_api.h>
#include <errno.h>
#include <math.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "base/file.h"
#include "train/checkpoint.h"
#include "train/curve.h"
#include "train/forward.h"
#include "train/model.h"
#include "train/ranks.h"
#include "train/reduce.h"
#include "train/speed.h"
#include "train/text.h"
#ifdef CPU_DEVICE
#include "cpu/include/cudev.h"
#endif

enum {
    LOOKS = 10,         // at the held-out text, in a training
    SAVE_SECONDS = 30,  // between checkpoints
    AT_A_LOOK = 1,      // batches of held-out text
    AT_THE_END = 16,    // the same; at most
};

struct options {
    const char *model, *text, *out, *nccl;
    int64_t steps, warm, gpus, brief;
    uint64_t seed;
};

struct training {
    struct options o;
    struct ranks ranks;
    int texts;               // of a step, on all GPUs
    struct model_size size;  // with the texts of this GPU
    struct text text;
    struct reducer* reducer;
    struct model* model;
    struct speed speed;
    bool stop;  // somebody was interrupted
    struct run_state state;
    int64_t *tokens, *labels;  // of a step
    char path[4096];           // of the checkpoint
};

static volatile sig_atomic_t interrupted;

static void interrupt(int signal_number) {
    interrupted = signal_number;
}

static int64_t number(const char* name, const char* text, int64_t low) {
    char* end;
    long long n = strtoll(text, &end, 10);
    if (end != text && !*end && n >= low) return n;
    fprintf(stderr, "make train: %s=%s is no whole number from %lld on.\n", name, text,
            (long long)low);
    exit(2);
}

static struct options read_options(int argc, char** argv) {
    struct options o = {.seed = 1, .gpus = 1, .nccl = "libnccl.so.2"};
    for (int i = 1; i + 1 < argc; i += 2) {
        const char* value = argv[i + 1];
        if (strcmp(argv[i], "--model") == 0) o.model = value;
        if (strcmp(argv[i], "--text") == 0) o.text = value;
        if (strcmp(argv[i], "--out") == 0) o.out = value;
        if (strcmp(argv[i], "--steps") == 0) o.steps = number("STEPS", value, 1);
        if (strcmp(argv[i], "--warm") == 0) o.warm = number("WARM", value, 1);
        if (strcmp(argv[i], "--seed") == 0) o.seed = (uint64_t)number("SEED", value, 0);
        if (strcmp(argv[i], "--gpus") == 0) o.gpus = number("GPUS", value, 1);
        if (strcmp(argv[i], "--nccl") == 0) o.nccl = value;
        if (strcmp(argv[i], "--brief") == 0) o.brief = number("BRIEF", value, 0);
    }
    if (o.model && o.text && o.out) return o;
    fprintf(stderr,
            "usage: %s --model NAME --text FILE --out FOLDER [--steps N] [--warm N] [--seed N] "
            "[--gpus N] [--nccl FILE]\n",
            argv[0]);
    exit(2);
}

// ---- a training

static float* floats(int64_t n) {
    float* made = calloc((size_t)n, sizeof *made);
    if (made) return made;
    fprintf(stderr, "make train: there is no memory for %lld numbers.\n", (long long)n);
    exit(1);
}

static int refused(const char* what, int status) {
    static const char* const words[] = {"", "a bad argument", "sizes it cannot do", "a CUDA error"};
    fprintf(stderr, "make train: %s ends with %s (%s).\n", what,
            status >= 1 && status <= 3 ? words[status] : "an unknown status",
            cudaGetErrorString(cudaGetLastError()));
    return 1;
}

// Which model, and which part of a step's texts each GPU gets: the same number.
static int divide(struct training* t) {
    const struct model_size* size = model_size_of(t->o.model);
    if (!size) {
        fprintf(stderr, "make train: MODEL=%s is none of these: %s.\n", t->o.model, model_names());
        return 2;
    }
    if (t->o.gpus > MOST_RANKS || size->B % t->o.gpus) {
        fprintf(
            stderr,
            "make train: GPUS=%lld: the %d texts of a step of MODEL=%s are divided evenly, among "
            "at most %d GPUs.\n",
            (long long)t->o.gpus, size->B, size->name, MOST_RANKS);
        return 2;
    }
    t->texts = size->B;
    t->size = *size;
    t->size.B /= (int)t->o.gpus;
    return 0;
}

static int begin(struct training* t) {
#ifdef CPU_DEVICE
    cudev_leave_open();  // a training launches small kernels a hundred thousand times
#endif
    if (mkdir(t->o.out, 0777) != 0 && errno != EEXIST) {
        fprintf(stderr, "make train: the folder OUT=%s cannot be made: %s.\n", t->o.out,
                strerror(errno));
        return 2;
    }
    if (text_read(&t->text, t->o.text, t->size.N) != 0) return 1;
    if (reducer_begin(&t->reducer, &t->ranks, t->o.nccl) != COURSE_OK) return 2;
    int status = model_begin(&t->model, &t->size, t->o.seed, t->reducer);
    if (status != COURSE_OK) return refused("the model's beginning", status);
    const int64_t n = model_parameters(t->model), rows = (int64_t)t->size.B * t->size.N;
    struct run_state* s = &t->state;
    s->seed = t->o.seed, s->text = t->text.hash, s->parameters = n;
    s->steps = t->o.steps ? t->o.steps : t->size.steps;
    s->warm = t->o.warm ? t->o.warm : t->size.warm;
    if (s->warm > (s->steps + 1) / 2) s->warm = (s->steps + 1) / 2;
    snprintf(s->model, sizeof s->model, "%s", t->size.name);
    if (speed_begin(&t->speed, s->steps) != 0) return 1;
    s->losses = floats(s->steps + 1), s->held_out = floats(s->steps + 1);
    for (int64_t i = 0; i <= s->steps; i++) s->held_out[i] = NAN;
    s->w = floats(n), s->mean = floats(n), s->square = floats(n);
    t->tokens = calloc((size_t)rows, sizeof *t->tokens);
    t->labels = calloc((size_t)rows, sizeof *t->labels);
    return t->tokens && t->labels ? 0 : 1;
}

static void end(struct training* t) {
    struct run_state* s = &t->state;
    free(s->losses), free(s->held_out), free(s->w), free(s->mean), free(s->square);
    free(t->tokens), free(t->labels);
    speed_end(&t->speed);
    reducer_end(t->reducer);  // it may still use the model's arrays
    model_end(t->model);
    text_free(&t->text);
}

// Rank 0 writes the checkpoint. In the end the others show that they have the same parameters.
static int save(struct training* t, bool last) {
    struct run_state* s = &t->state;
    if (t->ranks.rank > 0 && !last) return 0;
    int status = model_save(t->model, s->w, s->mean, s->square);
    if (status != COURSE_OK) return refused("copying the parameters", status);
    if (t->ranks.count > 1)
        t->ranks.shared->signature[t->ranks.rank] = checkpoint_signature(s->w, s->parameters);
    return t->ranks.rank > 0 || checkpoint_write(t->path, s) == 0 ? 0 : 1;
}

// Another training's checkpoint is kept beside, under another name.
static int set_aside(struct training* t, const char* why) {
    char kept[sizeof t->path + 16];
    snprintf(kept, sizeof kept, "%s.before", t->path);
    if (rename(t->path, kept) != 0) {
        fprintf(stderr, "%s is %s, and cannot be kept as %s: %s. Move it, or name another OUT=.\n",
                t->path, why, kept, strerror(errno));
        return 1;
    }
    printf("The checkpoint %s is %s: it is kept as %s, and a training begins anew.\n", t->path, why,
           kept);
    return 0;
}

// Looks for a training that was interrupted, on whatever number of GPUs, and reads it.
static int find_checkpoint(struct training* t) {
    struct run_state* s = &t->state;
    const char* why;
    int there = checkpoint_read(t->path, s, &why);
    if (there < 0) return 1;
    if (there && s->step == s->steps) {
        printf("%s is of a training that has ended: it begins anew.\n", t->path);
        s->step = 0;
        for (int64_t i = 0; i <= s->steps; i++) s->held_out[i] = NAN;
        return 0;
    }
    if (why) return set_aside(t, why);
    if (there) printf("Goes on after step %lld of %s.\n", (long long)s->step, t->path);
    return 0;
}

// Goes on where an interrupted training stopped. Rank 0 finds out whether there is one; the others
// read the same file behind it.
static int resume(struct training* t) {
    struct run_state* s = &t->state;
    const char* why;
    snprintf(t->path, sizeof t->path, "%s/%s.checkpoint", t->o.out, t->size.name);
    if (t->ranks.rank == 0) {
        if (find_checkpoint(t) != 0) return 1;
        if (t->ranks.count > 1) t->ranks.shared->step = s->step;
        ranks_turn(&t->ranks);
    } else {
        ranks_turn(&t->ranks);
        const int64_t step = t->ranks.shared->step;
        if (step && (checkpoint_read(t->path, s, &why) != 1 || s->step != step)) {
            fprintf(stderr, "make train: %s has changed while it was read.\n", t->path);
            return 1;
        }
    }
    if (s->step == 0) return 0;
    int status = model_load(t->model, s->w, s->mean, s->square);
    return status == COURSE_OK ? 0 : refused("copying the parameters", status);
}

// From 0 up in the steps of warm-up; then down to a tenth, evenly.
static float rate(const struct training* t, int64_t step) {
    double steps = (double)t->state.steps, warm = (double)t->state.warm;
    double done = steps > warm ? ((double)step - warm) / (steps - warm) : 0;
    return t->size.lr * (float)((double)step < warm ? (double)step / warm : 1 - 0.9 * done);
}

// Number of this GPU's first text in a batch of all GPUs.
static size_t own(const struct training* t, int64_t batch) {
    return (size_t)(batch * t->texts + (int64_t)t->ranks.rank * t->size.B);
}

static int look(struct training* t, int batches, float* mean) {
    double sum = 0;
    for (int i = 0; i < batches; i++) {
        struct model_sums sums = {0};
        text_held_out(&t->text, t->tokens, t->labels, t->size.B, t->size.N, own(t, i));
        int status = model_run(t->model, t->tokens, t->labels, false, &sums);
        if (status != COURSE_OK) return refused("a forward pass", status);
        sum += sums.loss;
    }
    *mean = (float)(sum / batches);
    return 0;
}

// Batches of a look after the present step: as many as there are, but no more than wanted.
static int held_out_batches(const struct training* t) {
    const size_t all = text_held_out_count(&t->text, t->size.N), B = (size_t)t->texts;
    const size_t whole = all < B ? 1 : all / B;
    const bool ends = t->state.step == t->state.steps && !t->o.brief;
    const size_t wanted = ends ? AT_THE_END : AT_A_LOOK;
    return (int)(whole < wanted ? whole : wanted);
}

static int step_once(struct training* t) {
    struct run_state* s = &t->state;
    const int64_t step = s->step + 1;
    struct model_sums sums = {.stop = interrupted != 0};
    text_draw(&t->text, t->tokens, t->labels, t->size.B, t->size.N, s->seed, own(t, step));
    int status = model_run(t->model, t->tokens, t->labels, true, &sums);
    if (status != COURSE_OK) return refused("a step", status);
    s->losses[step] = sums.loss;
    // All GPUs stop behind the same step. One alone need not ask the others.
    t->stop = sums.stop > 0 || (t->ranks.count == 1 && interrupted);
    status = model_update(t->model, rate(t, step), step);
    if (status != COURSE_OK) return refused("AdamW", status);
    s->step = step;
    if (isfinite(s->losses[step])) return 0;
    fprintf(stderr,
            "make train: the loss of step %lld is %g. A kernel computes nonsense, or the "
            "learning rate is too high.\n",
            (long long)step, s->losses[step]);
    return 1;
}

static void print_step(const struct training* t) {
    const struct run_state* s = &t->state;
    printf("%6lld  %8.4f", (long long)s->step, s->losses[s->step]);
    if (isnan(s->held_out[s->step]))
        printf("  %8s %8s", "", "");
    else
        printf("  %8.4f %8.4f", s->held_out[s->step], t->text.bigram);
    printf("  %8.0f\n", t->texts * t->size.N / speed_median(&t->speed));
}

static int train(struct training* t) {
    struct run_state* s = &t->state;
    const int64_t every = s->steps / LOOKS > 0 ? s->steps / LOOKS : 1, first = s->step + 1;
    double saved = clock_seconds();
    printf("  step      loss  held out  bigrams  tokens/s\n");
    while (s->step < s->steps && !t->stop) {
        const double before = clock_seconds();
        if (step_once(t) != 0) return 1;
        speed_add(&t->speed, clock_seconds() - before);
        const bool looks = s->step % every == 0 || s->step == s->steps;
        if (looks && look(t, held_out_batches(t), &s->held_out[s->step]) != 0) return 1;
        if (looks || s->step == first) print_step(t);
        if (clock_seconds() - saved > SAVE_SECONDS) {
            if (save(t, false) != 0) return 1;
            saved = clock_seconds();
        }
    }
    if (save(t, true) != 0) return 1;
    if (s->step == s->steps) return 0;
    printf("Interrupted after step %lld, which is saved: the same command goes on from here.\n",
           (long long)s->step);
    return 128 + (interrupted ? interrupted : SIGINT);
}

// ---- text

// Draws a token with probability proportional to exp(logit / 0.8).
static int pick(const float* logits, uint64_t seed, uint64_t index) {
    double weight[TEXT_TOKENS], sum = 0, most = -INFINITY;
    for (int i = 0; i < TEXT_TOKENS; i++) most = fmax(most, logits[i]);
    for (int i = 0; i < TEXT_TOKENS; i++) sum += weight[i] = exp((logits[i] - most) / 0.8);
    double at = (double)(draw_bits(seed, index) >> 11) * 0x1p-53 * sum;
    for (int i = 0; i < TEXT_TOKENS; i++)
        if ((at -= weight[i]) < 0) return i;
    return TEXT_TOKENS - 1;
}

// The first texts of a batch are written beside each other.
static int sample(struct training* t) {
    static const char* const prompts[] = {"The kernel ", "A warp ", "Each block ",
                                          "In shared memory "};
    const int B = t->size.B, N = t->size.N, most = 4, texts = B < most ? B : most;
    float* logits = floats((int64_t)B * TEXT_TOKENS);
    memset(t->tokens, 0, (size_t)B * (size_t)N * sizeof *t->tokens);
    int shortest = N;
    for (int b = 0; b < texts; b++) {
        int length = (int)strlen(prompts[b]);
        for (int i = 0; i < length; i++) t->tokens[b * N + i] = text_token(prompts[b][i]);
        shortest = length < shortest ? length : shortest;
    }
    int status = COURSE_OK;
    const int last = N < 96 ? N : 96;
    for (int at = shortest - 1; at + 1 < last && status == COURSE_OK; at++) {
        status = model_next(t->model, t->tokens, at, TEXT_TOKENS, logits);
        for (int b = 0; b < texts; b++)
            if (at + 1 >= (int)strlen(prompts[b]))
                t->tokens[b * N + at + 1] = pick(logits + b * TEXT_TOKENS, t->state.seed,
                                                 (uint64_t)(at * most + b) + ((uint64_t)1 << 40));
    }
    free(logits);
    if (status != COURSE_OK) return refused("writing", status);
    printf("\nIt writes:\n");
    for (int b = 0; b < texts; b++) {
        printf("  | ");
        for (int i = 0; i < last; i++) {
            char c = text_char((int)t->tokens[b * N + i]);
            putchar(c == '\n' ? ' ' : c);
        }
        putchar('\n');
    }
    return 0;
}

static int report(struct training* t) {
    const struct run_state* s = &t->state;
    char path[4200];
    curve_print(s, t->text.bigram);
    snprintf(path, sizeof path, "%s/%s.csv", t->o.out, t->size.name);
    if (curve_write(path, s, t->text.bigram) != 0) return 1;
    snprintf(path, sizeof path, "%s/%s.speed.csv", t->o.out, t->size.name);
    if (speed_write(path, &t->speed, s, t->ranks.count, t->texts, t->size.N) != 0) return 1;
    printf("\nHeld-out loss %.4f, bigram entropy of the text %.4f nats a character: %s.\n",
           s->held_out[s->steps], t->text.bigram,
           s->held_out[s->steps] < t->text.bigram ? "below" : "not below");
    return t->o.brief ? 0 : sample(t);
}

static void print_head(const struct training* t) {
    printf("MODEL=%s: %lld parameters, %d texts of %d tokens a step; %.1f MB kept for the "
           "backward pass.\nKernels of lessons %s. SEED=%llu\n",
           t->size.name, (long long)model_parameters(t->model), t->texts, t->size.N,
           (double)model_kept_bytes(t->model) / 1e6, train_layers_names(),
           (unsigned long long)t->o.seed);
    if (t->ranks.count > 1)
        printf("GPUS=%d: %d of the texts on each, %.1f MB of gradients averaged in a step.\n",
               t->ranks.count, t->size.B, (double)model_parameters(t->model) * sizeof(bf16) / 1e6);
}

int main(int argc, char** argv) {
    struct training t = {.o = read_options(argc, argv)};
    struct sigaction action = {.sa_handler = interrupt};
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    setvbuf(stdout, NULL, _IOLBF, 0);
    int status = divide(&t);
    if (status != 0) return status;
    if (ranks_begin(&t.ranks, (int)t.o.gpus) != 0) return 1;
    status = begin(&t);
    if (status == 0) {
        print_head(&t);
        status = resume(&t);
    }
    if (status == 0) status = train(&t);
    if (status == 0 && t.ranks.rank == 0) status = report(&t);
    end(&t);
    return status;
}
