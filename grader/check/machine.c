// machine.c: what this machine grades with. See command.h.
#include "check/command.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

// The first line that a command prints; "" if it prints nothing.
static void first_line(const char* command, char* line, size_t size) {
    line[0] = '\0';
    FILE* pipe = popen(command, "re");
    if (!pipe) return;
    if (!fgets(line, (int)size, pipe)) line[0] = '\0';
    line[strcspn(line, "\n")] = '\0';
    pclose(pipe);
}

void choose_device(struct result* r, const struct options* o, struct session* session, char* arch,
                   size_t arch_size) {
    char gpu[96] = "", capability[16] = "", mode[32] = "";
    bool has_gpu = access("/dev/nvidiactl", F_OK) == 0;
    if (has_gpu && (!o->device || strcmp(o->device, "cuda") == 0)) {
        first_line("nvidia-smi --query-gpu=name --format=csv,noheader 2>/dev/null", gpu,
                   sizeof gpu);
        first_line("nvidia-smi --query-gpu=compute_cap --format=csv,noheader 2>/dev/null",
                   capability, sizeof capability);
        first_line("nvidia-smi --query-gpu=compute_mode --format=csv,noheader 2>/dev/null", mode,
                   sizeof mode);
    }
    bool has_nvcc =
        system("PATH=\"$PATH:/usr/local/cuda/bin\" command -v nvcc >/dev/null 2>&1") == 0;
    session->gpu = o->device ? strcmp(o->device, "cuda") == 0 : gpu[0] && has_nvcc;
    session->shares_gpu = session->gpu && strcmp(mode, "Default") == 0;
    if (session->gpu && (!gpu[0] || !has_nvcc))
        options_refuse("DEVICE=cuda needs %s; make doctor says more. DEVICE=cpu grades here.",
                       gpu[0] ? "nvcc (the CUDA Toolkit)" : "an NVIDIA GPU and its driver");
    // a note for who reads the report; the lessons' texts are made without it
    session->asks_nvcc = !session->gpu && has_nvcc && o->command == COMMAND_GRADE &&
                         format_is_report(o->format) && !getenv("COURSE_WITHOUT_NVCC");
    int major = 0, minor = 0;
    if (session->gpu && sscanf(capability, "%d.%d", &major, &minor) == 2)
        snprintf(arch, arch_size, "sm_%d%d%s", major, minor, major == 9 ? "a" : "");
    if (o->card) snprintf(r->card, sizeof r->card, "%s", o->card->id);
    if (session->gpu && o->card)
        options_refuse("CARD=%s: the GPU here is no other card; DEVICE=cpu CARD=%s grades as if",
                       o->card->id, o->card->id);
    if (session->gpu)
        snprintf(r->device, sizeof r->device, "cuda (%s, %s)", gpu, arch);
    else
        snprintf(r->device, sizeof r->device, "cpu (%ld cores%s%s)", sysconf(_SC_NPROCESSORS_ONLN),
                 o->card ? ", posing as " : "", o->card ? o->card->name : "");
}

void choose_isolation(struct result* r, const struct options* o, struct session* session) {
    const char* why = "";
    if (!o->isolation) {
        session->level = wall_strongest();
    } else {
        int level = wall_level_from_name(o->isolation);
        if (level < 0)
            options_refuse("ISOLATION=%s: bubblewrap, userid or limits is expected", o->isolation);
        if (!wall_probe((enum wall_level)level, &why))
            options_refuse("ISOLATION=%s does not work here: %s", o->isolation, why);
        session->level = (enum wall_level)level;
    }
    snprintf(r->isolation, sizeof r->isolation, "%s%s", wall_level_name(session->level),
             session->level == WALL_BUBBLEWRAP ? ""
             : wall_has_landlock()             ? " + landlock"
                                               : " (files not hidden)");
}
