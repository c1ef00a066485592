// inspect.c: what a graded file may not do, read from its assembly, its dependencies, its
// symbols and its sections. See inspect.h.
//
// None of this protects the verdict: the grader's own process compares the output bytes. Inspection
// protects what runs in the student's process: the runner's copies, the findings, the counters.
#include "wall/inspect.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"

struct verdict {
    char* message;
    size_t size;
    const char* function;
    const char* shown_name;
    bool gpu;            // what is read is nvcc's
    const char* source;  // source/unit.cu, whose line n + 1 is line n of the submission; or NULL
    int start;           // the line of what runs before main(); 0: not known
};

// The names that a file's undefined symbols are compared with.
struct lists {
    bool gpu;        // the symbols are nvcc's
    bool watched;    // they are the watched program's
    char* device;    // the text of the CPU device's headers that a .cu uses by CUDA's names
    char* watching;  // the text of cudev/watching.h, which headers announce accesses with
    char* runner;    // what the runner and the lesson's call define
    char* gated;     // functions of C that the runner stands in front of: run/gated
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

// Says what the file may not do, and where. Always true.
static bool refuse(struct verdict* v, const char* format, ...)
    __attribute__((format(printf, 2, 3)));
static bool refuse(struct verdict* v, const char* format, ...) {
    va_list values;
    va_start(values, format);
    vsnprintf(v->message, v->size, format, values);
    va_end(values);
    return true;
}

// Does the name begin with one of `starts`?
static bool starts_with(const char* name, const char* const* starts) {
    for (; *starts; starts++)
        if (!strncmp(name, *starts, strlen(*starts))) return true;
    return false;
}

// ---- inline assembly

// The function in which the compiler collects what runs before main(), in its assembly.
struct start {
    int file, first;  // the number of the submission's name; the line the function is said to be at
    bool inside;
};

// Reads a line of the assembly. Returns the submission's line that runs before main(), once.
static int read_start(struct start* s, const char* line, const char* shown_name) {
    char name[512];
    int file, number;
    if (sscanf(line, " .file %d \"%511[^\"]\"", &file, name) == 2 && !strcmp(name, shown_name))
        s->file = file;
    if (strchr(line, ':') && *line != '.' && !isspace((unsigned char)*line))
        s->inside = !strncmp(line, "_GLOBAL__sub_I_", 15) || strstr(line, "static_initialization_");
    if (!s->inside || sscanf(line, " .loc %d %d", &file, &number) != 2 || file != s->file) return 0;
    if (!s->first) s->first = number;
    return number == s->first ? 0 : number;
}

// The compiler marks the text of every asm statement with #APP and the line it came from. No asm
// statement goes unmarked.
static bool find_assembly(char* text, struct verdict* v) {
    struct start start = {0};
    for (char* line; (line = next_line(&text));) {
        if (!v->start) v->start = read_start(&start, line, v->shown_name);
        char file[512] = "";
        long number = 0;
        bool copied = strncmp(line, "#APP", 4) == 0;
        const char* word = line + strspn(line, " \t");
        if (!copied && strncmp(word, ".incbin", 7) != 0 && strncmp(word, ".include", 8) != 0)
            continue;
        line = next_line(&text);
        if (copied && line && sscanf(line, "# %ld \"%511[^\"]\"", &number, file) == 2)
            return refuse(v,
                          "%s:%ld: inline assembly, which is not possible on the CPU device; "
                          "lessons/ptx.h lists what there is",
                          file, number);
        return refuse(v, "%s: assembler directives are not allowed", v->shown_name);
    }
    return false;
}

// ---- included files

// Resolves "." and ".." in a path by its text alone, in place: "include/cpu/../x.h" is
// "include/x.h".
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
        if (!strcmp(word, "\\") || !strcmp(word, "out/source/unit.cpp")) continue;
        simplify(word);
        if (!strncmp(word, "/usr/", 5) || !strncmp(word, "include/", 8)) continue;
        return refuse(v, "%s: includes %s; a graded file stands alone", v->shown_name, word);
    }
    return false;
}

// ---- symbols

// A contract's functions are called like its lesson: gqa(), or gqa_forward() and gqa_backward().
// No symbol of the runner has such a name.
static bool is_contract_symbol(const char* name, const char* function) {
    size_t n = strlen(function);
    return !strncmp(name, function, n) && (!name[n] || name[n] == '_');
}

// operator new and delete in all their forms, and anything in the CPU device's namespace.
static const char* const forbidden_mangled[] = {"_Znw",      "_Zna",       "_Zdl", "_Zda",
                                                "_ZN5cudev", "_ZNK5cudev", NULL};

// The "file:line" behind the tab that `nm -l` ends a line with, the file as the student calls it.
static const char* place_of(const char* line, const struct verdict* v) {
    const char* tab = strrchr(line, '\t');
    const char* shown = tab ? strstr(tab, v->shown_name) : NULL;
    return shown ? shown : tab ? tab + 1 : v->shown_name;
}

// Does a line of `nm` define a function of the contract?
static bool defines_contract(const char* symbols, const char* function) {
    for (const char* line = symbols; line; line = (line = strchr(line, '\n')) ? line + 1 : NULL) {
        char name[512], type;
        if (sscanf(line, "%511s %c", name, &type) == 2 && type == 'T' &&
            is_contract_symbol(name, function))
            return true;
    }
    return false;
}

// A line of `nm -P -l`: name, type, value, size, then a tab and file:line if known.
static bool bad_symbol(char* line, bool has_launcher, struct verdict* v) {
    char name[512], type;
    if (sscanf(line, "%511s %c", name, &type) != 2) return false;
    const char* where = place_of(line, v);
    bool local = islower((unsigned char)type) && !strchr("uvwi", type);
    if (type == 'i') return refuse(v, "%s: %s is resolved at load time (ifunc)", where, name);
    // Variables become local (compile.sh) and take nobody's place.
    if (local || strchr("UwvBDGRS", type)) return false;
    // DW.ref.x: the compiler's own pointer to x, which has a name that C does not know.
    if (strncmp(name, "DW.ref.", 7) == 0) return false;
    if (strcmp(name, "main") == 0)
        return refuse(v,
                      "%s: defines main(), which the grader has: it calls %s(); put a main() of "
                      "your own into another file",
                      where, v->function);
    if (strncmp(name, "_Z", 2) != 0 && !is_contract_symbol(name, v->function) && !has_launcher)
        return refuse(v,
                      "%s: defines %s(), and the contract's %s() is missing: names are those of "
                      "the contract",
                      where, name, v->function);
    if (strncmp(name, "_Z", 2) != 0 && !is_contract_symbol(name, v->function))
        return refuse(v,
                      "%s: defines the C symbol %s; only %s() and functions of its contract may be "
                      "visible: make it static",
                      where, name, v->function);
    if (starts_with(name, forbidden_mangled) && type != 'W' && type != 'V')
        return refuse(v, "%s: replaces %s, which belongs to the runtime", where, name);
    return false;
}

static bool find_bad_symbol(char* symbols, struct verdict* v) {
    const bool has_launcher = defines_contract(symbols, v->function);
    for (char* line; (line = next_line(&symbols));)
        if (bad_symbol(line, has_launcher, v)) return true;
    return false;
}

// ---- what it calls

// Calls of the CUDA runtime that the runner follows (run/wrapped) or that move and allocate
// nothing.
static const char allowed_calls[] =
    "cudaMalloc cudaMallocAsync cudaMallocPitch cudaMallocManaged cudaMallocHost cudaHostAlloc "
    "cudaHostGetDevicePointer cudaFree cudaFreeAsync cudaFreeHost cudaMemcpy cudaMemcpyAsync "
    "cudaMemcpy2D cudaMemcpy2DAsync cudaMemcpyFromSymbol cudaMemcpyFromSymbolAsync "
    "cudaMemcpyToSymbol cudaMemcpyToSymbolAsync cudaMemset cudaMemsetAsync cudaMemset2D "
    "cudaMemset2DAsync cudaInitDevice cudaChooseDevice cudaSetDeviceFlags cudaGetDeviceFlags "
    "cudaGetLastError cudaPeekAtLastError cudaGetErrorString "
    "cudaGetErrorName cudaGetDevice cudaGetDeviceCount cudaSetDevice cudaMemGetInfo "
    "cudaLaunchKernel cudaLaunchKernelExC cudaDriverGetVersion cudaRuntimeGetVersion "
    "cudaGetDriverEntryPointByVersion";
static const char* const allowed_families[] = {
    "cudaDevice",        "cudaStream",    "cudaEvent",      "cudaFunc", "cudaOccupancy",
    "cudaGetDeviceProp", "cudaGetSymbol", "cudaPointerGet", NULL};

// The device has these calls, and a graded file may not use them. On a GPU the runner follows
// copies of up to two dimensions. A function of the host in a stream runs there when the launcher
// has returned: nobody would see what it does to memory that both sides reach.
static const struct {
    const char* calls;
    const char* use;
} refused_calls[] = {
    {"cudaMalloc3D", "use cudaMallocPitch()"},
    {"cudaMemcpy3D cudaMemcpy3DAsync", "use cudaMemcpy2D(), once for each layer"},
    {"cudaMemset3D cudaMemset3DAsync", "use cudaMemset2D(), once for each layer"},
    {"cudaDeviceReset", "free what you have allocated; a reset frees what others have, too"},
    {"cudaLaunchHostFunc cudaStreamAddCallback", "call the function in the launcher"},
};
enum { REFUSED_CALLS = sizeof refused_calls / sizeof *refused_calls };

// The words on what to use instead of a call, or NULL.
static const char* instead_of(const char* call) {
    for (int i = 0; i < REFUSED_CALLS; i++)
        if (inspect_has_word(refused_calls[i].calls, call)) return refused_calls[i].use;
    return NULL;
}

bool inspect_is_word(char c) {
    return isalnum((unsigned char)c) || c == '_' || c == '$';
}

bool inspect_refuse(const struct inspect_place* place, int line, const char* format, ...) {
    int used = snprintf(place->message, place->size, "%s:%d: ", place->shown_name, line);
    if (used < 0 || (size_t)used >= place->size) return false;  // the name alone fills it
    va_list values;
    va_start(values, format);
    vsnprintf(place->message + used, place->size - (size_t)used, format, values);
    va_end(values);
    return false;
}

bool inspect_has_word(const char* text, const char* word) {
    size_t n = strlen(word);
    for (const char* at = text; (at = strstr(at, word)); at += n) {
        bool before = at == text || !inspect_is_word(at[-1]);
        if (before && !inspect_is_word(at[n])) return true;
    }
    return false;
}

// Symbols that the compiler itself refers to: instrumentation, static variables of functions,
// cleaning up.
static const char* const compiler_symbols[] = {
    "__tsan_", "__ubsan_handle_", "__cxa_guard_", "__cxa_begin_catch", "__cxa_end_catch",
    "__cxa_rethrow", "__gxx_", "_Unwind_Resume", "__stack_chk_fail", "__dso_handle",
    "_GLOBAL_OFFSET", "_ZSt9terminate", "_ZSt17__throw_bad", "_ZSt20__throw_", "_ZSt28__throw_bad",
    "__cuda", "__nv", "__fatbin", "__assert_fail", "__x86_indirect_",
    // arithmetic without an instruction
    "__popcount", "__udiv", "__umod", "__divti3", "__modti3", "__multi3", NULL};
// Functions of C. Only those of memory follow a pointer, and the instrumented build watches them.
static const char c_functions[] =
    "memcpy memmove memset memcmp abort exit stderr stdout clock div ldiv lldiv abs labs llabs";
// C's mathematics; each name also with f or l at the end.
static const char mathematics[] =
    " acos acosh asin asinh atan atan2 atanh cbrt ceil copysign cos cosh erf erfc exp exp2 exp10 "
    "expm1 fabs fdim floor fma fmax fmin fmod frexp hypot ilogb j0 j1 jn ldexp lgamma llrint "
    "llround log log10 log1p log2 logb lrint lround modf nearbyint nextafter pow remainder "
    "remquo rint round scalbln scalbn sin sincos sinh sqrt tan tanh tgamma trunc y0 y1 yn ";

static bool is_mathematics(const char* name) {
    char base[64];
    size_t n = strlen(name);
    if (n >= sizeof base) return false;
    if (inspect_has_word(mathematics, name)) return true;
    snprintf(base, sizeof base, "%.*s", (int)(n - 1), name);
    return n > 1 && strchr("fl", name[n - 1]) && inspect_has_word(mathematics, base);
}

static bool is_allowed_symbol(const char* name, const struct lists* l) {
    if (l->gpu && strcmp(name, "atexit") == 0) return true;  // nvcc's own
    return starts_with(name, compiler_symbols) || inspect_has_word(c_functions, name) ||
           is_mathematics(name) || inspect_has_word(l->gated, name) ||
           inspect_has_word(l->device, name) || inspect_has_word(l->watching, name);
}

// Parts of the C++ library that call what is not in headers. A symbol with `symbol` in its name
// comes from one of `words` in the source.
static const struct {
    const char *symbol, *words, *use;
} of_library[] = {
    {"basic_string", "string to_string", "an array of char and snprintf()"},
    {"ostream", "cout cerr clog endl ostream stringstream ostringstream", "printf()"},
    {"ios_base", "cout cerr stringstream fstream ifstream ofstream", "printf()"},
    {"_Rb_tree", "map set multimap multiset", "an array"},
    {"_Prime_rehash", "unordered_map unordered_set", "an array"},
    {"_List_node", "list", "an array"},
    {"random_device", "random_device", "rand()"},
    {"chrono", "chrono steady_clock system_clock", "cudaEventElapsedTime()"},
    {"__cxa_throw", "throw", "the status that the contract names"},
    {"__cxa_allocate_exception", "throw", "the status that the contract names"},
    {"_error", "throw", "the status that the contract names"},
    {"exception", "throw", "the status that the contract names"},
};

// The line of the submission on which one of the words stands first, but for directives; 0: none.
// at, length: the word there.
static int line_with(const char* source, const char* words, const char** at, size_t* length) {
    int line = 0;
    for (const char* p = source; p && *p; line++) {
        const char *end = p + strcspn(p, "\n"), *q = p + strspn(p, " \t");
        for (; *q != '#' && q < end; q += *length ? *length : 1) {
            char word[64];
            *at = q;
            *length = 0;
            while (inspect_is_word(q[*length])) ++*length;
            if (*length == 0 || *length >= sizeof word) continue;
            snprintf(word, sizeof word, "%.*s", (int)*length, q);
            if (inspect_has_word(words, word)) return line;
        }
        p = end + (*end == '\n');
    }
    return 0;
}

// The symbol is of the C++ library: says which word of the source asks for it.
static bool refuse_library(struct verdict* v, const char* symbol) {
    for (size_t i = 0; i < sizeof of_library / sizeof of_library[0]; i++) {
        const char* word;
        size_t n;
        int line = strstr(symbol, of_library[i].symbol)
                       ? line_with(v->source, of_library[i].words, &word, &n)
                       : 0;
        if (line > 0)
            return refuse(v,
                          "%s:%d: %.*s needs functions of the C++ library, which a graded file "
                          "may not call; use %s",
                          v->shown_name, line, (int)n, word, of_library[i].use);
    }
    return false;
}

// Their second result goes where a pointer says. In the watched program they have other names, by
// the declarations of cudev/watching.h.
static const char second_results[] = "modf modff modfl frexp frexpf frexpl remquo remquof remquol";

// A graded file reaches neither into the runner nor past it: of the CPU device it uses what CUDA's
// headers use, of the runner nothing, of C what is listed here.
static bool find_bad_call(char* symbols, const struct lists* l, struct verdict* v) {
    for (char* line; (line = next_line(&symbols));) {
        char name[512], type;
        if (sscanf(line, "%511s %c", name, &type) != 2 || !strchr("Uwv", type)) continue;
        const char* where = place_of(line, v);
        const char* use = instead_of(name);
        if (use)
            return refuse(v, "%s: calls %s, which the grader cannot follow: %s", where, name, use);
        if (inspect_has_word(allowed_calls, name) || starts_with(name, allowed_families)) continue;
        if (!strncmp(name, "cuda", 4))
            return refuse(v,
                          "%s: calls %s, which the grader cannot follow; lessons/README.md lists "
                          "the calls that it can",
                          where, name);
        if (l->watched && inspect_has_word(second_results, name))
            return refuse(v, "%s: declares %s anew, and so that nobody sees what it writes", where,
                          name);
        if (is_allowed_symbol(name, l)) continue;
        if (inspect_has_word(l->runner, name))
            return refuse(v, "%s: uses %s, which belongs to the grader", where, name);
        if (refuse_library(v, name)) return true;
        return refuse(
            v, "%s: uses %s; a graded file calls CUDA, C's mathematics, printf, malloc and free",
            where, name);
    }
    return false;
}

// ---- sections

// nvcc registers the kernels before main() by one function: 8 bytes of .init_array.
static bool is_of_nvcc(const char* section) {
    unsigned long size = 0;
    return sscanf(section, ".init_array %*s %*s %*s %lx", &size) == 1 && size == 8;
}

static bool find_constructor(char* sections, struct verdict* v) {
    const char* const names[] = {".init_array", ".preinit_array", ".fini_array",
                                 ".ctors",      ".dtors",         NULL};
    for (char* line; (line = next_line(&sections));)
        for (int i = 0; names[i]; i++) {
            const char* section = strstr(line, names[i]);
            if (!section || (v->gpu && (strstr(line, ".rela.") || is_of_nvcc(section)))) continue;
            char place[16] = "";
            if (v->start) snprintf(place, sizeof place, ":%d", v->start);
            return refuse(v,
                          "%s%s: runs code before or after main() (section %s): no constructors, "
                          "destructors or initialisers that call functions%s",
                          v->shown_name, place, names[i],
                          v->start ? "; compute the value in the launcher" : "");
        }
    return false;
}

// Accesses that the instrumented build does not announce: compile.sh has found the first place.
static bool find_by_value(char* place, struct verdict* v) {
    place[strcspn(place, "\n")] = '\0';
    return *place && refuse(v,
                            "%s: a call takes a structure from memory, or leaves one there, where "
                            "nobody sees it: copy it to a local variable first, or pass a pointer",
                            place);
}
static bool find_beside(char* place, struct verdict* v) {
    place[strcspn(place, "\n")] = '\0';
    return *place && refuse(v,
                            "%s: an access that nobody sees: a local or constant variable is taken "
                            "for something larger, or one that is const can be changed all the "
                            "same; use it as what it is declared to be",
                            place);
}
static bool find_endless(char* place, struct verdict* v) {
    place[strcspn(place, "\n")] = '\0';
    return *place && refuse(v, "%s: an array of 0 elements: use a pointer", place);
}

// A GPU has 64 KB for them: CUDA C++ Programming Guide, "Technical Specifications per Compute
// Capability". ptxas says so too, and no grade on the CPU runs it.
static bool find_too_many_constants(char* sections, struct verdict* v) {
    const unsigned long most = 64 * 1024;
    unsigned long all = 0;
    for (char* line; (line = next_line(&sections));) {
        const char* section = strstr(line, " cudev_constant_");
        unsigned long bytes = 0;
        if (section && sscanf(section, "%*s %*s %*s %*s %lx", &bytes) == 1) all += bytes;
    }
    return all > most && refuse(v,
                                "%s: its __constant__ variables have %lu bytes together, and a GPU "
                                "has %lu for them; larger tables stand in __device__ memory",
                                v->shown_name, all, most);
}

// ---- a function that is not there

bool inspect_missing(const char* out, const char* function, char* name, size_t size) {
    char *wanted = read_out(out, "wanted"), *symbols = read_out(out, "symbols"), *rest = wanted;
    bool missing = false;
    for (char* line; wanted && symbols && !missing && (line = next_line(&rest));) {
        if (!is_contract_symbol(line, function)) continue;
        missing = true;
        for (const char* at = symbols; missing && at; at = strchr(at, '\n')) {
            char defined[512], type;
            at += *at == '\n';
            if (sscanf(at, "%511s %c", defined, &type) == 2)
                missing = strcmp(defined, line) != 0 || !strchr("TW", type);
        }
        snprintf(name, size, "%s", line);
    }
    free(wanted), free(symbols);
    return missing;
}

// ---- all of it

// Looks for what the file may not do in one of the compiler's files.
static enum inspection look(const char* out, const char* file,
                            bool (*find)(char* text, struct verdict* v), struct verdict* v) {
    char* text = read_out(out, file);
    if (!text) return INSPECTION_HAS_NOTHING;
    bool found = find(text, v);
    free(text);
    return found ? INSPECTION_REFUSES : INSPECTION_FINE;
}

static enum inspection look_at_calls(const char* out, struct lists* l, struct verdict* v) {
    static const char* const lists[] = {"symbols", "symbols-watched", "symbols-gpu"};
    for (int i = 0; i < 3; i++) {
        char* symbols = read_out(out, lists[i]);
        l->watched = i == 1;
        l->gpu = i == 2;
        bool found = symbols && find_bad_call(symbols, l, v);
        free(symbols);
        if (found) return INSPECTION_REFUSES;
    }
    return INSPECTION_FINE;
}

// Inspects nvcc's results, if it was nvcc's turn: then compile.sh has left all that is read here.
static enum inspection inspect_gpu(const char* out, struct verdict* v) {
    char *symbols = read_out(out, "symbols-gpu"), *sections = read_out(out, "sections-gpu");
    char *source = read_out(out, "source/unit.cu"), *text = read_out(out, "host.ii");
    char *alone = read_out(out, "alone-host.ii"), *toolkit = read_out(out, "toolkit");
    enum inspection end = INSPECTION_FINE;
    v->gpu = true;
    if (symbols && !(sections && source && text && alone && toolkit)) {
        end = INSPECTION_HAS_NOTHING;
    } else if (symbols) {
        toolkit[strcspn(toolkit, "\n")] = '\0';
        const struct inspect_texts texts = {text, alone, *toolkit ? toolkit : NULL};
        bool fine = inspect_host_text(text, v->shown_name, v->message, v->size) &&
                    inspect_includes(source, &texts, v->shown_name, v->message, v->size) &&
                    !find_bad_symbol(symbols, v) && !find_constructor(sections, v);
        end = fine ? INSPECTION_FINE : INSPECTION_REFUSES;
    }
    free(symbols), free(sections), free(source), free(text), free(alone), free(toolkit);
    return end;
}

enum inspection inspect_unit(const char* out, const char* shown_name, const char* function,
                             char* message, size_t message_size) {
    static const struct {
        const char* file;
        bool (*find)(char* text, struct verdict* v);
    } looks[] = {{"unit.s", find_assembly},
                 {"symbols", find_bad_symbol},
                 {"symbols-watched", find_bad_symbol},
                 {"by_value", find_by_value},
                 {"beside", find_beside},
                 {"endless", find_endless},
                 {"sections", find_constructor},
                 {"sections", find_too_many_constants}};
    struct verdict v = {message, message_size, function, shown_name, false, NULL, 0};
    struct lists l = {false,
                      false,
                      read_out(out, "device"),
                      read_out(out, "watching"),
                      read_out(out, "runner"),
                      read_out(out, "gated")};
    char *plain = read_out(out, "unit.ii"), *watched = read_out(out, "watched.ii");
    char *alone = read_out(out, "alone.ii"), *alone_watched = read_out(out, "alone-watched.ii");
    char *source = read_out(out, "source/unit.cpp"), *same = read_out(out, "source/unit.cu");
    enum inspection end = INSPECTION_HAS_NOTHING;
    v.source = same;
    // A fault of the text says more than the missing files that come of it.
    if (plain && watched && !inspect_text(plain, watched, shown_name, message, message_size))
        end = INSPECTION_REFUSES;
    else if (l.device && l.watching && l.runner && l.gated && plain && watched && alone &&
             alone_watched && source && same)
        end = look(out, "deps", find_foreign_include, &v);
    const struct inspect_texts texts[] = {{plain, alone, NULL}, {watched, alone_watched, NULL}};
    if (end == INSPECTION_FINE &&
        !(inspect_source(same, shown_name, message, message_size) &&
          inspect_includes(source, &texts[0], shown_name, message, message_size) &&
          inspect_includes(source, &texts[1], shown_name, message, message_size)))
        end = INSPECTION_REFUSES;
    for (size_t i = 0; i < sizeof looks / sizeof looks[0] && end == INSPECTION_FINE; i++)
        end = look(out, looks[i].file, looks[i].find, &v);
    if (end == INSPECTION_FINE) end = look_at_calls(out, &l, &v);
    if (end == INSPECTION_FINE) end = inspect_gpu(out, &v);
    free(l.device), free(l.watching), free(l.runner), free(l.gated), free(plain), free(watched);
    free(alone), free(alone_watched), free(source), free(same);
    return end;
}
