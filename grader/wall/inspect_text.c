// inspect_text.c: what a graded file may not say, read from the text that is compiled: after the
// preprocessor, so that no macro hides anything. See inspect.h.
//
// The plain and the instrumented build are compiled from the two texts that are read here. The
// student's words must be the same in both.
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "wall/inspect.h"

// ---- words of the student's own lines

// Goes through a preprocessed text. Lines of other files (headers) are skipped; the rewriter has
// seen to it that no line of a .cu claims to be another file's.
struct reader {
    const char* text;
    const char* at;
    const char* file;  // the student's, as the compiler names it
    int line;
    int round;  // brackets of ( ) that are open
    bool inside, line_start;
    const char* word;  // the current token
    size_t length;
    struct token {
        const char* word;
        size_t length;
    } before[3];  // the tokens in front of it, the nearest first; NULL: none
};

static void skip_line(struct reader* r) {
    while (*r->at && *r->at != '\n') r->at++;
}

// A line of the preprocessor's own: "# 12 "file" flags", which says whose lines follow, and their
// numbers; or a definition.
static bool read_directive(struct reader* r) {
    char* end;
    // Only the compiler begins a line with #: the text of a macro has a blank in front.
    if (r->at[0] != '#' || (r->at > r->text && r->at[-1] != '\n')) return false;
    if (!strncmp(r->at, "#define ", 8) || !strncmp(r->at, "#undef ", 7)) {
        skip_line(r);  // inspect_includes.c reads it
        return true;
    }
    if (r->at[1] != ' ' || !isdigit((unsigned char)r->at[2])) return false;
    long line = strtol(r->at + 2, &end, 10);
    size_t n = strlen(r->file);
    r->inside =
        end[0] == ' ' && end[1] == '"' && !strncmp(end + 2, r->file, n) && end[2 + n] == '"';
    r->line = (int)line - 1;  // the end of the marker's line counts
    skip_line(r);
    return true;
}

static size_t literal_length(const char* p) {
    size_t i = 1;
    while (p[i] && p[i] != p[0] && p[i] != '\n') i += p[i] == '\\' && p[i + 1] ? 2 : 1;
    return i + (p[i] == p[0]);
}

static size_t token_length(const char* p) {
    size_t i = 1;
    if (*p == '"' || *p == '\'') return literal_length(p);
    if (isdigit((unsigned char)*p)) {
        while (inspect_is_word(p[i]) || p[i] == '.' || (p[i] == '\'' && inspect_is_word(p[i + 1])))
            i++;
    } else if (inspect_is_word(*p)) {
        while (inspect_is_word(p[i])) i++;
    }
    return i;
}

// The next token of the student's lines; false at the end.
static bool next(struct reader* r) {
    for (;;) {
        if (!*r->at) return false;
        if (*r->at == '\n') {
            r->line++;
            r->at++;
            r->line_start = true;
        } else if (r->line_start && read_directive(r)) {
        } else if (!r->inside) {
            skip_line(r);
        } else if (isspace((unsigned char)*r->at)) {
            r->at++;
        } else {
            break;
        }
    }
    r->line_start = false;
    for (int i = 2; i > 0; i--) r->before[i] = r->before[i - 1];
    r->before[0] = (struct token){r->word, r->length};
    r->word = r->at;
    r->length = token_length(r->at);
    r->at += r->length;
    return true;
}

static bool is(const struct reader* r, const char* text) {
    return strlen(text) == r->length && memcmp(text, r->word, r->length) == 0;
}

// Was this the token so many before the last?
static bool was(const struct reader* r, int i, const char* text) {
    const struct token* t = &r->before[i];
    return t->word && strlen(text) == t->length && memcmp(text, t->word, t->length) == 0;
}

static bool starts(const struct reader* r, const char* text) {
    return r->length >= strlen(text) && memcmp(text, r->word, strlen(text)) == 0;
}

static bool is_one_of(const struct reader* r, const char* const* list) {
    for (; *list; list++)
        if (is(r, *list)) return true;
    return false;
}

// ---- what is allowed

// Attributes that headers turn their words into: __noinline__, __align__, alignas, ...
static const char* const attributes[] = {
    "noinline",    "__noinline__", "flatten",    "always_inline", "__always_inline__", "aligned",
    "__aligned__", "unused",       "__unused__", "maybe_unused",  "noreturn",          "nodiscard",
    "fallthrough", "likely",       "unlikely",   "packed",        "__packed__",        "deprecated",
    NULL};
// The same of CUDA's own headers.
static const char* const cuda_attributes[] = {"global",
                                              "device",
                                              "host",
                                              "shared",
                                              "constant",
                                              "managed",
                                              "launch_bounds",
                                              "grid_constant",
                                              "cluster_dims",
                                              "maxnreg",
                                              "cudart_builtin",
                                              "device_builtin",
                                              NULL};
// Builtins behind NULL, NAN, INFINITY, offsetof and va_arg, and hints to the compiler.
static const char* const builtins[] = {"__builtin_nan",
                                       "__builtin_nanf",
                                       "__builtin_inf",
                                       "__builtin_inff",
                                       "__builtin_huge_val",
                                       "__builtin_huge_valf",
                                       "__builtin_offsetof",
                                       "__builtin_expect",
                                       "__builtin_unreachable",
                                       "__builtin_assume",
                                       "__builtin_FILE",
                                       "__builtin_LINE",
                                       NULL};
// Words that the rewriter and __shared__ put into a line behind ::cudev::, and others of theirs.
static const char* const of_cudev[] = {
    "site",    "named",      "known",   "deduced", "unset",     "next_round", "dynamic_array",
    "cluster", "pointed_at", "bounded", "whole",   "laid_over", NULL};
static const char* const of_arrays[] = {"element", "extent", NULL};
// Mathematics whose name is a macro (cpu/include/cudev/math.h): cudev::rsqrtf(x).
static const char* const of_mathematics[] = {"frexp",  "modf",      "remquo", "sincos", "sincospi",
                                             "rsqrt",  "rsqrtf",    "sinpi",  "sinpif", "cospi",
                                             "cospif", "fast_powf", NULL};
static const char* const rewritten[] = {
    "cudev_arguments", "cudev_type",           "cudev_shared_array",
    "cudev_shared",    "cudev_dynamic_shared", "cudev_not_here",
    "cudev_member",    "cudev_members",        NULL};
// Words in front of an expression. Behind another word, ::cudev:: would belong to a declaration.
static const char* const before_expression[] = {"const", "else", "return", "do", NULL};
// Where the rewriter puts variables of the device (cpu/include/cudev/language.h).
static const char* const sections[] = {
    "\"cudev_device_zero\"",    "\"cudev_device_value\"",    "\"cudev_device_const\"",
    "\"cudev_constant_zero\"",  "\"cudev_constant_value\"",  "\"cudev_constant_const\"",
    "\",\\\"aw\\\",@nobits#\"", "\",\\\"aw\\\",%nobits//\"", NULL};
static const char* const assembly[] = {"asm", "__asm", "__asm__", NULL};
static const char* const per_thread[] = {"thread_local", "__thread", "_Thread_local", NULL};
static const char* const instrumentation[] = {"__tsan_", "__ubsan_", "__asan_", "__sanitizer_",
                                              "__wrap_", "__real_",  "gate_",   NULL};
// Functions that the compiler calls by itself (inspect.c): some of it writes where no one watches.
// _Z: the names that it gives to C++ functions and variables. A declaration of one would declare
// the same thing again, with other types.
static const char* const of_compiler[] = {
    "__cxa_",      "__gxx_",       "_Unwind_",       "__udiv", "__umod", "__popcount",
    "__stack_chk", "__dso_handle", "_GLOBAL_OFFSET", "__x86_", "_Z",     NULL};
static const char* const pragmas[] = {"unroll", "nounroll", "once", "region", "endregion", NULL};

struct where {
    bool gpu;  // the text is what nvcc makes of the file for the host
    struct inspect_place place;
};

// The reader stands on __attribute__ (depth 0) or on the second [ of [[ (depth 2): every attribute
// in it, by its name.
static bool read_attributes(struct reader* r, int depth, const struct where* w) {
    enum { NAMES = 2 };
    while (next(r)) {
        if (is(r, "(") || is(r, "[")) depth++;
        if (is(r, ")") || is(r, "]")) depth--;
        if (depth <= 0) return true;
        if (depth == NAMES && is(r, "section") && next(r) && is(r, "(")) {
            while (next(r) && !is(r, ")"))
                if (!is_one_of(r, sections))
                    return inspect_refuse(&w->place, r->line,
                                          "the attribute section: a graded file has none");
            continue;
        }
        if (depth == NAMES && (isalpha((unsigned char)*r->word) || *r->word == '_') &&
            !is(r, "gnu") && !is_one_of(r, attributes) &&
            !(w->gpu && is_one_of(r, cuda_attributes)))
            return inspect_refuse(
                &w->place, r->line,
                "the attribute %.*s: a graded file has none but noinline and aligned",
                (int)r->length, r->word);
    }
    return true;
}

// The reader stands on the word cudev: is it of an expression that the rewriter makes?
static bool is_rewritten(const struct reader* r) {
    struct reader ahead = *r;
    if (!next(&ahead) || !is(&ahead, ":") || !next(&ahead) || !is(&ahead, ":") || !next(&ahead))
        return false;
    if (is_one_of(&ahead, of_mathematics)) return true;
    if (!was(r, 0, ":") || !was(r, 1, ":")) return false;
    if (is_one_of(&ahead, of_arrays)) return was(r, 2, ",") || was(r, 2, "{");
    bool starts_here = !r->before[2].word || !inspect_is_word(*r->before[2].word);
    for (const char* const* w = before_expression; *w; w++) starts_here |= was(r, 2, *w);
    return starts_here && is_one_of(&ahead, of_cudev);
}

// Does C's other spelling of a bracket, a brace or # begin here? <:: is < and :: in C++, unless a :
// or > follows.
static bool is_digraph(const struct reader* r) {
    const char* p = r->word;
    if (p[0] == '<' && p[1] == ':') return p[2] != ':' || p[3] == ':' || p[3] == '>';
    return (p[0] == '<' && p[1] == '%') || (p[0] == '%' && (p[1] == '>' || p[1] == ':')) ||
           (p[0] == ':' && p[1] == '>');
}

// Does the reader stand on the ] of an array without a size, a member or a declared one? Nobody
// knows where such an array ends, and accesses to a local or constant one are not announced.
static bool is_endless(const struct reader* r) {
    struct reader ahead = *r;
    if (!is(r, "]") || !was(r, 0, "[") || was(r, 1, "operator")) return false;
    bool more = next(&ahead);
    for (int depth = 0; more && (depth > 0 || is(&ahead, "[")); more = next(&ahead))
        depth += is(&ahead, "[") ? 1 : is(&ahead, "]") ? -1 : 0;
    return more && (is(&ahead, ";") || is(&ahead, ">") || (r->round == 0 && is(&ahead, ",")));
}

static bool read_word(struct reader* r, const struct where* w) {
    const char* const* name = instrumentation;
    r->round += is(r, "(") ? 1 : is(r, ")") ? -1 : 0;
    if (!w->gpu && is_endless(r))
        return inspect_refuse(&w->place, r->line,
                              "an array without a size: give it one, or use a pointer");
    if (is(r, "__attribute__") || is(r, "__attribute")) return read_attributes(r, 0, w);
    if (is(r, "[") && was(r, 0, "[")) return read_attributes(r, 2, w);
    if (is_digraph(r))
        return inspect_refuse(&w->place, r->line,
                              "%.2s: write the bracket, the brace or the # itself", r->word);
    if (is(r, "__declspec"))
        return inspect_refuse(&w->place, r->line, "__declspec has no place in CUDA C");
    if (is(r, "#")) {
        next(r);
        if (!is(r, "pragma"))
            return inspect_refuse(&w->place, r->line, "a directive has no place here");
        next(r);
        if (!is_one_of(r, pragmas) && !starts(r, "nv_"))
            return inspect_refuse(
                &w->place, r->line,
                "#pragma %.*s: only #pragma unroll means something to both compilers",
                (int)r->length, r->word);
        return true;
    }
    if (is_one_of(r, assembly) && w->gpu)
        return inspect_refuse(
            &w->place, r->line,
            "inline assembly that host code has, too; #ifdef __CUDA_ARCH__ keeps it "
            "to kernels, and lessons/ptx.h has functions for it");
    if (is_one_of(r, assembly))
        return inspect_refuse(
            &w->place, r->line,
            "inline assembly, which is not possible on the CPU device; lessons/ptx.h lists what "
            "there is");
    if (is_one_of(r, per_thread))
        return inspect_refuse(&w->place, r->line, "%.*s: host threads have no place in a launcher",
                              (int)r->length, r->word);
    if (starts(r, "__builtin_va_"))
        return inspect_refuse(&w->place, r->line,
                              "a function with any number of arguments: use a template");
    if (starts(r, "__builtin_") && !is_one_of(r, builtins))
        return inspect_refuse(
            &w->place, r->line,
            "%.*s belongs to one compiler; use the function that CUDA or C has for it",
            (int)r->length, r->word);
    for (; *name; name++)
        if (starts(r, *name))
            return inspect_refuse(&w->place, r->line, "%.*s belongs to the grader", (int)r->length,
                                  r->word);
    for (name = of_compiler; *name; name++)
        if (starts(r, *name))
            return inspect_refuse(&w->place, r->line,
                                  "%.*s belongs to the compiler, which alone calls it",
                                  (int)r->length, r->word);
    if (memmem(r->word, r->length, "cudev", 5) && inspect_is_word(*r->word) &&
        !is_one_of(r, rewritten) && !(is(r, "cudev") && is_rewritten(r)))
        return inspect_refuse(&w->place, r->line,
                              "%.*s belongs to the CPU device; a kernel uses CUDA's own names",
                              (int)r->length, r->word);
    return true;
}

static bool read_words(const char* text, const struct where* w) {
    struct reader r = {
        .text = text, .at = text, .file = w->place.shown_name, .line = 1, .line_start = true};
    while (next(&r))
        if (!read_word(&r, w)) return false;
    return true;
}

bool inspect_host_text(const char* text, const char* shown_name, char* message, size_t size) {
    const struct where w = {true, {shown_name, message, size}};
    return read_words(text, &w);
}

bool inspect_text(const char* plain, const char* watched, const char* shown_name, char* message,
                  size_t size) {
    struct reader a = {
        .text = plain, .at = plain, .file = shown_name, .line = 1, .line_start = true};
    struct reader b = {
        .text = watched, .at = watched, .file = shown_name, .line = 1, .line_start = true};
    const struct where w = {false, {shown_name, message, size}};
    for (;;) {
        bool more = next(&a), more_watched = next(&b);
        if (!more && !more_watched) break;
        if (more != more_watched || a.length != b.length || memcmp(a.word, b.word, a.length) != 0)
            return inspect_refuse(
                &w.place, more ? a.line : b.line,
                "this line reads differently when the kernel is watched; a kernel cannot ask "
                "how it is compiled");
    }
    return read_words(plain, &w);
}
