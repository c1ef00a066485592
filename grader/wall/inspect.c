// inspect.c: what a graded file may not do, read from its assembly, its dependencies, its
// symbols and its sections. See build.h.
//
// None of this protects the verdict: that comes from the bytes of another process. It keeps what runs
// in the student's process honest: the runner's copies, and the counters of later lessons.
#include "wall/build.h"

#include <ctype.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "wall/file.h"

struct verdict {
    char* message;
    size_t size;
    const char* function;
    const char* shown_name;
};

static char* read_out(const char* out, const char* name) {
    char path[4096];
    size_t size;
    snprintf(path, sizeof path, "%s/%s", out, name);
    return file_read(path, (size_t)256 << 20, &size);
}

// The next line of *text, NUL-terminated in place; NULL at the end.
static char* next_line(char** text) {
    char* line = *text;
    if (!line || !*line) return NULL;
    char* end = strchr(line, '\n');
    if (end) *end = '\0';
    *text = end ? end + 1 : NULL;
    return line;
}

// ---- inline assembly

// The compiler marks what it copied from asm statements with #APP, and the line it came from; there is
// no way to write one that it does not mark.
static bool find_assembly(char* text, struct verdict* v) {
    for (char* line; (line = next_line(&text));) {
        char file[512] = "";
        long number = 0;
        bool copied = strncmp(line, "#APP", 4) == 0;
        const char* word = line + strspn(line, " \t");
        if (!copied && strncmp(word, ".incbin", 7) != 0 && strncmp(word, ".include", 8) != 0)
            continue;
        line = next_line(&text);
        if (copied && line && sscanf(line, "# %ld \"%511[^\"]\"", &number, file) == 2)
            snprintf(
                v->message, v->size,
                "%s:%ld: inline assembly; the instructions a lesson needs are functions of ptx.h",
                file, number);
        else
            snprintf(v->message, v->size, "%s: assembler directives are not allowed",
                     v->shown_name);
        return true;
    }
    return false;
}

// ---- included files

// Resolves "." and ".." in a path by its text alone, in place: "include/cpu/../x.h" is "include/x.h".
static void simplify(char* path) {
    char* out = path;
    for (const char* part = path; *part;) {
        size_t n = strcspn(part, "/");
        bool slash = part[n] == '/';
        if (n == 2 && part[0] == '.' && part[1] == '.' && out > path + 1) {
            out--;
            while (out > path && out[-1] != '/') out--;
        } else if (!(n == 1 && part[0] == '.')) {
            memmove(out, part, n + slash);
            out += n + slash;
        }
        part += n + slash;
    }
    *out = '\0';
}

static bool find_foreign_include(char* deps, struct verdict* v) {
    char* save;
    char* word = strtok_r(deps, " \t\n", &save);  // "out/unit.s:"
    while ((word = strtok_r(NULL, " \t\n", &save))) {
        if (!strcmp(word, "\\") || !strcmp(word, "out/unit.cpp")) continue;
        simplify(word);
        if (!strncmp(word, "/usr/", 5) || !strncmp(word, "include/", 8)) continue;
        snprintf(v->message, v->size, "%s: includes %s; a graded file stands alone", v->shown_name,
                 word);
        return true;
    }
    return false;
}

// ---- symbols

static bool is_contract_symbol(const char* name, const char* function) {
    size_t n = strlen(function);
    return !strncmp(name, function, n) && (!name[n] || !strcmp(name + n, "_workspace_bytes"));
}

// operator new and delete in all their forms, and anything in the CPU device's namespace.
static bool is_forbidden_mangled(const char* name) {
    const char* const starts[] = {"_Znw", "_Zna", "_Zdl", "_Zda", "_ZN5cudev", "_ZNK5cudev", NULL};
    for (int i = 0; starts[i]; i++)
        if (!strncmp(name, starts[i], strlen(starts[i]))) return true;
    return false;
}

// A line of `nm -P -l`: name, type, value, size, then a tab and file:line if known.
static bool bad_symbol(char* line, struct verdict* v) {
    char name[512], type;
    if (sscanf(line, "%511s %c", name, &type) != 2) return false;
    char* where = strrchr(line, '\t');
    where = where ? where + 1 : (char*)(uintptr_t)v->shown_name;
    bool defined = !strchr("Uwv", type),
         local = islower((unsigned char)type) && !strchr("uvwi", type);
    if (type == 'i') {
        snprintf(v->message, v->size, "%s: %s is resolved at load time (ifunc)", where, name);
    } else if (!defined || local) {
        return false;
    } else if (strncmp(name, "_Z", 2) != 0 && !is_contract_symbol(name, v->function)) {
        snprintf(v->message, v->size,
                 "%s: defines the C symbol %s; only %s() may be visible: make it static", where,
                 name, v->function);
    } else if (is_forbidden_mangled(name) && type != 'W' && type != 'V') {
        snprintf(v->message, v->size, "%s: replaces %s, which belongs to the runtime", where, name);
    } else {
        return false;
    }
    return true;
}

static bool find_bad_symbol(char* symbols, struct verdict* v) {
    for (char* line; (line = next_line(&symbols));)
        if (bad_symbol(line, v)) return true;
    return false;
}

// ---- what it calls

// Calls of the CUDA runtime that the runner follows (run/wrapped) or that move and allocate nothing.
static const char* const allowed_calls[] = {
    "cudaMalloc",          "cudaFree",           "cudaMemcpy",
    "cudaMemcpyAsync",     "cudaMemcpy2D",       "cudaMemcpyFromSymbol",
    "cudaMemcpyToSymbol",  "cudaMallocManaged",  "cudaMallocHost",
    "cudaHostAlloc",       "cudaFreeHost",       "cudaMemset",
    "cudaMemsetAsync",     "cudaMemset2D",       "cudaGetLastError",
    "cudaPeekAtLastError", "cudaGetErrorString", "cudaGetErrorName",
    "cudaGetDevice",       "cudaGetDeviceCount", "cudaSetDevice",
    "cudaMemGetInfo",      "cudaLaunchKernel",   NULL};
static const char* const allowed_families[] = {"cudaDevice", "cudaStream",    "cudaEvent",
                                               "cudaFunc",   "cudaOccupancy", "cudaGetDeviceProp",
                                               NULL};

static bool is_allowed_call(const char* name) {
    for (int i = 0; allowed_calls[i]; i++)
        if (!strcmp(name, allowed_calls[i])) return true;
    for (int i = 0; allowed_families[i]; i++)
        if (!strncmp(name, allowed_families[i], strlen(allowed_families[i]))) return true;
    return false;
}

// True if `word` stands in `text` as a whole word.
static bool has_word(const char* text, const char* word) {
    size_t n = strlen(word);
    for (const char* at = text; (at = strstr(at, word)); at += n) {
        bool before = at == text || !(isalnum((unsigned char)at[-1]) || at[-1] == '_');
        bool after = !(isalnum((unsigned char)at[n]) || at[n] == '_');
        if (before && after) return true;
    }
    return false;
}

// A graded file reaches neither into the runner nor past it: of the CPU device it uses what CUDA's
// headers use (device: their text), of the runner nothing (runner: its symbols).
static bool find_bad_call(char* symbols, const char* device, const char* runner,
                          struct verdict* v) {
    for (char* line; (line = next_line(&symbols));) {
        char name[512], type;
        if (sscanf(line, "%511s %c", name, &type) != 2 || !strchr("Uwv", type)) continue;
        bool private_name =
            !strncmp(name, "__real_", 7) || !strncmp(name, "__wrap_", 7) ||
            (!strncmp(name, "cudev_", 6) && !has_word(device, name)) ||
            (strncmp(name, "cuda", 4) && strncmp(name, "cudev_", 6) && has_word(runner, name));
        if (private_name) {
            snprintf(v->message, v->size, "%s: uses %s, which belongs to the grader", v->shown_name,
                     name);
            return true;
        }
        if (!strncmp(name, "cuda", 4) && !is_allowed_call(name)) {
            snprintf(
                v->message, v->size,
                "%s: calls %s, which the grader cannot follow; use the plain call (cudaMalloc, "
                "cudaMemcpy, ...)",
                v->shown_name, name);
            return true;
        }
    }
    return false;
}

// ---- sections

static bool find_constructor(char* sections, struct verdict* v) {
    const char* const names[] = {".init_array", ".preinit_array", ".fini_array",
                                 ".ctors",      ".dtors",         NULL};
    for (char* line; (line = next_line(&sections));)
        for (int i = 0; names[i]; i++)
            if (strstr(line, names[i])) {
                snprintf(v->message, v->size,
                         "%s: runs code before or after main() (section %s): no constructors, "
                         "destructors or initialisers that call functions",
                         v->shown_name, names[i]);
                return true;
            }
    return false;
}

bool inspect_unit(const char* out, const char* shown_name, const char* function, char* message,
                  unsigned long message_size) {
    static const struct {
        const char* file;
        bool (*find)(char* text, struct verdict* v);
    } looks[] = {
        {"unit.s", find_assembly},
        {"deps", find_foreign_include},
        {"symbols", find_bad_symbol},
        {"sections", find_constructor},
    };
    struct verdict v = {message, message_size, function, shown_name};
    for (size_t i = 0; i < sizeof looks / sizeof looks[0]; i++) {
        char* text = read_out(out, looks[i].file);
        if (!text) {
            snprintf(message, message_size, "the compiler left no %s", looks[i].file);
            return false;
        }
        bool found = looks[i].find(text, &v);
        free(text);
        if (found) return false;
    }
    // The same for both devices: what is undefined in either object.
    char *device = read_out(out, "device"), *runner = read_out(out, "runner");
    bool fine = device && runner;
    if (!fine) snprintf(message, message_size, "the compiler left no list of symbols");
    const char* const lists[] = {"symbols", "symbols-gpu"};
    for (int i = 0; fine && i < 2; i++) {
        char* symbols = read_out(out, lists[i]);
        if (symbols) fine = !find_bad_call(symbols, device, runner, &v);
        free(symbols);
    }
    free(device), free(runner);
    return fine;
}
