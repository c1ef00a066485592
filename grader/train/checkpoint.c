// checkpoint.c: see checkpoint.h. The numbers are this machine's own, as they lie in memory.
#include "train/checkpoint.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char magic[8] = "GPT29 3";

struct head {
    char magic[8], model[16];
    uint64_t seed, text;
    int64_t parameters, steps, warm, step;
};

static struct head head_of(const struct run_state* s) {
    struct head h = {.seed = s->seed,
                     .text = s->text,
                     .parameters = s->parameters,
                     .steps = s->steps,
                     .warm = s->warm,
                     .step = s->step};
    memcpy(h.magic, magic, sizeof h.magic);
    memcpy(h.model, s->model, sizeof h.model);
    return h;
}

// All arrays, read or written by `move`, which is fread() or fwrite() of `count` floats.
static bool move_arrays(FILE* file, const struct run_state* s, bool write) {
    float* const array[] = {s->losses, s->held_out, s->w, s->mean, s->square};
    for (int i = 0; i < 5; i++) {
        size_t n = (size_t)(i < 2 ? s->steps + 1 : s->parameters);
        size_t moved = write ? fwrite(array[i], sizeof(float), n, file)
                             : fread(array[i], sizeof(float), n, file);
        if (moved != n) return false;
    }
    return true;
}

int checkpoint_write(const char* path, const struct run_state* s) {
    char name[4096];
    const struct head h = head_of(s);
    snprintf(name, sizeof name, "%s.new", path);
    FILE* file = fopen(name, "wb");
    bool good = file && fwrite(&h, sizeof h, 1, file) == 1 && move_arrays(file, s, true) &&
                fflush(file) == 0 && fsync(fileno(file)) == 0;
    if (file && fclose(file) != 0) good = false;
    if (good && rename(name, path) == 0) return 0;
    const int why = errno;
    const char* before = access(path, F_OK) == 0 ? " The one before it is intact." : "";
    fprintf(stderr, "make train: the checkpoint %s cannot be written: %s.%s\n", path, strerror(why),
            before);
    remove(name);
    return -1;
}

static const char* difference(const struct head* a, const struct head* b) {
    if (memcmp(a->magic, b->magic, sizeof a->magic) != 0) return "another version's";
    if (memcmp(a->model, b->model, sizeof a->model) != 0 || a->parameters != b->parameters)
        return "another MODEL='s";
    if (a->seed != b->seed) return "another SEED='s";
    if (a->steps != b->steps) return "one with other STEPS=";
    if (a->warm != b->warm) return "one with another WARM=";
    return a->text != b->text ? "another text's" : NULL;
}

int checkpoint_read(const char* path, struct run_state* s, const char** why) {
    struct head h, wanted = head_of(s);
    FILE* file = fopen(path, "rb");
    *why = NULL;
    if (!file) return 0;
    if (fread(&h, sizeof h, 1, file) != 1 || (*why = difference(&h, &wanted)) != NULL) {
        if (!*why) *why = "no whole checkpoint";
        fclose(file);
        return 0;
    }
    bool good =
        h.step >= 0 && h.step <= h.steps && move_arrays(file, s, false) && fgetc(file) == EOF;
    fclose(file);
    if (good) {
        s->step = h.step;
        return 1;
    }
    fprintf(stderr, "make train: the checkpoint %s is damaged; remove it to begin anew.\n", path);
    return -1;
}

uint64_t checkpoint_signature(const float* w, int64_t parameters) {
    uint64_t hash = 0xcbf29ce484222325u;
    for (int64_t i = 0; i < parameters; i++) {
        uint32_t bits;
        memcpy(&bits, &w[i], sizeof bits);
        hash = (hash ^ bits) * 0x100000001b3u;
    }
    return hash;
}
