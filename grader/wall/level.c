// level.c: which isolation level this machine offers. See wall.h.
#include "wall/wall.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char* const names[WALL_LEVELS] = {"limits", "userid", "bubblewrap"};

const char* wall_level_name(enum wall_level level) {
    return names[level];
}

int wall_level_from_name(const char* name) {
    for (int i = 0; i < WALL_LEVELS; i++)
        if (strcmp(names[i], name) == 0) return i;
    return -1;
}

bool wall_probe(enum wall_level level, const char** why) {
    static char text[256];
    static const char* const argv[] = {"/usr/bin/true", NULL};
    struct wall_job job = {
        .argv = argv, .program = -1, .arena = -1, .seconds = 5, .memory = (size_t)1 << 30};
    *why = text;
    if (level == WALL_USERID && geteuid() != 0) {
        snprintf(text, sizeof text, "only root can run a program under another user id");
        return false;
    }
    if (level == WALL_LIMITS && geteuid() == 0 && wall_probe(WALL_USERID, why)) {
        snprintf(text, sizeof text, "limits do not hold root; as root the weakest level is userid");
        return false;
    }
    struct wall_result r = wall_run(level, &job);
    bool works = r.end == WALL_EXITED && r.code == 0;
    if (!works && r.end == WALL_FAILED)
        snprintf(text, sizeof text, "%s could not be started: %s",
                 level == WALL_BUBBLEWRAP ? "bwrap" : "the program", strerror(r.code));
    else if (!works)
        snprintf(text, sizeof text, "%.*s", (int)strcspn(r.output ? r.output : "", "\n"),
                 r.output && r.output[0] ? r.output : "a probe program did not finish");
    free(r.output);
    return works;
}

enum wall_level wall_strongest(void) {
    const char* why;
    for (int level = WALL_LEVELS - 1; level > WALL_LIMITS; level--)
        if (wall_probe((enum wall_level)level, &why)) return (enum wall_level)level;
    return WALL_LIMITS;
}
