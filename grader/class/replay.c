// replay.c: grades again what a student brings a result for. See class.h.
//
// REPLAY=result.json is what `make grade FORMAT=json` printed. Its hash finds the file among those
// handed in. The file is graded with the result's seed, and every difference is printed.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "class/class.h"

// Prints both texts if they differ. Returns 1 if they do, else 0.
static int differ(const char* what, const char* theirs, const char* ours) {
    if (!strcmp(theirs, ours)) return 0;
    printf("  %-24s theirs: %-32s here: %s\n", what, theirs, ours);
    return 1;
}

static int differ_points(const char* what, const struct result_item* a,
                         const struct result_item* b) {
    char theirs[120], ours[120];
    snprintf(theirs, sizeof theirs, "%d/%d %s %s", a->points, a->max_points,
             outcome_name(a->outcome), a->cause);
    snprintf(ours, sizeof ours, "%d/%d %s %s", b->points, b->max_points, outcome_name(b->outcome),
             b->cause);
    return differ(what, theirs, ours);
}

static int compare(const struct result* theirs, const struct result* ours) {
    char a[32], b[32];
    int differences = 0;
    differences += differ("cases, contract, grader", theirs->fingerprint, ours->fingerprint);
    differences += differ("device", theirs->device, ours->device);
    differences += differ("isolation", theirs->isolation, ours->isolation);
    for (int i = 0; i < theirs->item_count; i++) {
        const struct result_item* same = NULL;
        for (int j = 0; j < ours->item_count; j++)
            if (!strcmp(ours->item[j].name, theirs->item[i].name)) same = &ours->item[j];
        if (same)
            differences += differ_points(theirs->item[i].name, &theirs->item[i], same);
        else
            differences += differ(theirs->item[i].name, "graded", "no such item");
    }
    for (int j = 0; j < ours->item_count; j++) {
        bool there = false;
        for (int i = 0; i < theirs->item_count; i++)
            there |= !strcmp(ours->item[j].name, theirs->item[i].name);
        if (!there) differences += differ(ours->item[j].name, "not graded", "graded");
    }
    snprintf(a, sizeof a, "%d/%d", theirs->score, theirs->max_score);
    snprintf(b, sizeof b, "%d/%d", ours->score, ours->max_score);
    return differences + differ("score", a, b);
}

int replay(struct class* class) {
    struct result *theirs = malloc(sizeof *theirs), *ours = malloc(sizeof *ours);
    char* text = class_read(class->replay, NULL);
    if (!theirs || !ours) class_refuse("no memory for a result");
    if (!text || !result_from_json(text, theirs))
        class_refuse("REPLAY=%s is no result; it is what make grade LESSON=… FORMAT=json prints",
                     class->replay);
    free(text);
    int lesson = -1;
    struct row* row = NULL;
    for (int l = 0; l < class->lessons; l++)
        if (!strcmp(class->lesson[l].name, theirs->lesson)) lesson = l;
    if (lesson < 0)
        class_refuse("REPLAY=%s is about lesson %s, which LESSON= does not name", class->replay,
                     theirs->lesson);
    for (int i = 0; i < class->rows && !row; i++)
        if (class->row[i].cell[lesson].state == CELL_TAKEN &&
            !strcmp(class->row[i].cell[lesson].submission, theirs->submission))
            row = &class->row[i];
    if (!row)
        class_refuse("REPLAY=%s: the file it grades (SHA-256 %.16s...) was not handed in",
                     class->replay, theirs->submission);
    char* end;
    class->lesson[lesson].seed = strtoull(theirs->seed, &end, 10);
    if (!theirs->seed[0] || *end)
        class_refuse("REPLAY=%s: its seed, %s, is no number", class->replay, theirs->seed);
    // In a folder of its own, so that the class keeps its grade of that file.
    struct class apart = *class;
    char folder[1024];
    snprintf(folder, sizeof folder, "%s", class_path(class, "replay"));
    apart.out = folder;
    apart.item = NULL;
    printf("%s, lesson %s, seed %s\n", row->name, theirs->lesson, theirs->seed);
    if (!job_again(class, &apart, row, lesson, ours)) {
        char why[WHY_SIZE];
        error_kept(&apart, row, lesson, why, sizeof why);
        class_refuse("it could not be graded here: %s", why);
    }
    int differences = compare(theirs, ours);
    puts(differences ? "The two grades differ as said above." : "The same grade, item by item.");
    free(theirs);
    free(ours);
    return differences ? 1 : 0;
}
