// Which functions of the file run where: kernels, their helpers, the host's. nvcc refuses a kernel
// that calls a function of the host, and a launch of a function that is no kernel; g++ could not
// know.
#include "cpu/rewrite/rewrite.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool unset_array;

static struct function {
    size_t name;
    bool global, device, constant;  // __global__, __device__, constexpr
    bool host_too;                  // __host__ __device__
    size_t parameters;              // its (
    size_t open, close;             // its { }, both 0 for a declaration
} * functions;
static size_t function_count;

// ---- reading the file's functions

// From the ) of a parameter list to the { or ; of the function, over const, noexcept, -> type.
static size_t end_of_head(size_t close) {
    size_t i = next(close);
    for (int n = 0; n < 16 && !is(i, "{") && !is(i, ";") && tokens[i].kind != END; n++) {
        if (is(i, "(")) i = matching(i);
        if (tokens[i].kind == PUNCTUATION && !is(i, ")") && !is(i, "->") && !is(i, "*") &&
            !is(i, "&") && !is(i, "::") && !is(i, "<") && !is(i, ">"))
            return 0;
        i = next(i);
    }
    return is(i, "{") || is(i, ";") ? i : 0;
}

// The } of the { at `open`. Other mistakes in between are reported where they are rewritten.
static size_t end_of_body(size_t open) {
    size_t i = open;
    for (int depth = 0; tokens[i].kind != END; i = next(i)) {
        depth += is(i, "{") - is(i, "}");
        if (depth == 0) break;
    }
    return i;
}

static void note_function(size_t name, size_t parameters, size_t end) {
    struct function f = {.name = name, .parameters = parameters};
    for (size_t i = name, k; (k = previous(i)) != i; i = k) {
        if (is_one_of(k, "; } {")) break;
        f.global |= is(k, "__global__");
        f.device |= is(k, "__device__");
        f.host_too |= is(k, "__host__");
        f.constant |= is(k, "constexpr");
    }
    if (is(end, "{")) {
        f.open = end;
        f.close = end_of_body(end);
    }
    functions = checked(realloc(functions, (function_count + 1) * sizeof *functions));
    functions[function_count++] = f;
}

void read_functions(void) {
    static const char no_names[] = "__launch_bounds__ __cluster_dims__ __attribute__ alignas "
                                   "__align__ decltype noexcept static_assert asm "
                                   "__asm__ __declspec if for while switch";
    bool in_define = false;
    for (size_t i = 0; tokens[i].kind != END; i++) {
        if (tokens[i].kind == SPACE) in_define = in_define_after(i, in_define);
        if (tokens[i].kind == SPACE || in_define) continue;
        if (is(i, "{") && !opens_namespace(i)) {
            i = end_of_body(i);
            if (tokens[i].kind == END) break;
            continue;
        }
        size_t name = previous(i);
        if (!is(i, "(") || name == i || tokens[name].kind != WORD) continue;
        size_t close = matching(i), end = is_one_of(name, no_names) ? 0 : end_of_head(close);
        bool has_type = previous(name) != name && (tokens[previous(name)].kind == WORD ||
                                                   is_one_of(previous(name), "* & > )"));
        if (!end || !has_type) {
            i = close;
            continue;
        }
        note_function(name, i, end);
        i = is(end, "{") ? end_of_body(end) : end;
        if (tokens[i].kind == END) break;
    }
}

// The function whose body holds token i; NULL: none.
static const struct function* around(size_t i) {
    for (size_t k = 0; k < function_count; k++)
        if (functions[k].open < i && i < functions[k].close) return &functions[k];
    return NULL;
}

bool on_device(size_t i) {
    const struct function* f = around(i);
    return f && (f->global || f->device);
}

bool in_device_member(size_t i) {
    int depth = 0;
    if (around(i)) return false;
    for (size_t k = i, before; (before = previous(k)) != k; k = before) {
        depth += is(before, "}") - is(before, "{");
        if (depth >= 0) continue;
        depth = 0;
        for (size_t h = before; previous(h) != h && !is_one_of(previous(h), "; } {");) {
            h = previous(h);
            if (is(h, "__device__")) return true;
        }
    }
    return false;
}

bool only_on_device(size_t i) {
    const struct function* f = around(i);
    return f && (f->global || (f->device && !f->host_too));
}

// Is there any declaration of a name; one that a kernel may call; one of a kernel?
struct known {
    bool any, for_device, kernel;
};

static struct known look_up(size_t name) {
    struct known known = {false, false, false};
    for (size_t i = 0; i < function_count; i++) {
        const struct function* f = &functions[i];
        if (!same_word(f->name, name)) continue;
        known.any = true;
        known.kernel |= f->global;
        known.for_device |= f->global || f->device || f->constant;
    }
    return known;
}

size_t body_around(size_t i, bool* kernel) {
    const struct function* f = around(i);
    *kernel = f && f->global;
    return f ? f->open : i;
}

bool is_overloaded_kernel(size_t name) {
    bool kernel = false, other = false;
    for (size_t i = 0; i < function_count; i++) {
        const struct function* f = &functions[i];
        if (!same_word(f->name, name)) continue;
        kernel |= f->global;
        other |= !f->global;
    }
    return kernel && other;
}

bool is_helper(size_t i) {
    return look_up(i).for_device;
}

// May a kernel of this file stand in a header? Of a graded file that is never so.
static bool has_own_header(void) {
    for (size_t i = 0; any_source && tokens[i].kind != END; i++) {
        if (tokens[i].kind != SPACE) continue;
        const char *p = tokens[i].text, *end = p + tokens[i].length;
        for (; p < end; p++)
            if (*p == '#' && strncmp(p + 1 + strspn(p + 1, " \t"), "include ", 8) == 0 &&
                strchr(p, '"') && strchr(p, '"') < end)
                return true;
    }
    return false;
}

void check_launched(size_t last) {
    size_t name = is(last, ">") ? previous(matching_back(last)) : last;
    if (only_on_device(last))
        fail(last, "not on the CPU device: a kernel that launches kernels, launch them "
                   "from the host");
    if (tokens[name].kind != WORD || is(previous(name), "::")) return;
    struct known known = look_up(name);
    if (known.any && !known.kernel && !has_own_header())
        fail(name, "%.*s() is no kernel; write __global__ in front of it to launch it",
             (int)tokens[name].length, tokens[name].text);
}

// A name may also stand in the size of a parameter: float tile[][d + 1].
static bool is_parameter(const struct function* f, size_t name) {
    for (size_t i = f->parameters, end = matching(i); i < end; i = next(i))
        if (tokens[i].kind == WORD && same_word(i, name) && is_one_of(next(i), ", ) [ ="))
            return true;
    return false;
}

// Does the word at i hold the thread's index: as a parameter, or as int x = ... threadIdx ...;
// does? The last one counts: another loop may have had a counter of this name.
static bool holds_thread(const struct function* f, size_t word) {
    bool holds = is_parameter(f, word);
    for (size_t i = f->open; i < word; i = next(i)) {
        if (!same_word(i, word) || !is(next(i), "=") || tokens[previous(i)].kind != WORD) continue;
        for (holds = false; !is(i, ";") && !is(i, ",") && i < word; i = next(i))
            holds = holds || is(i, "threadIdx");
    }
    return holds;
}

void check_own_array(size_t name) {
    const struct function* f = around(name);
    bool barrier = false, by_thread = false;
    if (!f) return;  // braces that do not match: the compiler says so
    for (size_t i = name; i < f->close; i = next(i)) {
        barrier = barrier || is(i, "__syncthreads");
        if (i == name || !same_word(i, name)) continue;
        for (size_t open = next(i); is(open, "["); open = next(matching(open))) {
            size_t index = next(open);
            by_thread = by_thread || is(index, "threadIdx") ||
                        (is(next(index), "]") && holds_thread(f, index));
        }
    }
    if (!barrier || !by_thread) return;
    unset_array = true;
    fprintf(stderr,
            "%s:%d: warning: each thread has a %.*s of its own here, with elements that it "
            "never sets; is __shared__ missing in front?\n",
            shown_name, tokens[name].line, (int)tokens[name].length, tokens[name].text);
}

enum side function_side(size_t i) {
    const struct function* f = around(i);
    if (!f) return NO_SIDE;
    if (f->constant || (f->device && f->host_too)) return BOTH_SIDES;
    return f->global || f->device ? DEVICE_SIDE : HOST_SIDE;
}

bool is_copied_function(size_t i) {
    const struct function* f = around(i);
    bool copied = false, own = false;  // static: the function is this file's alone
    for (size_t k = f ? f->name : i, before; f && (before = previous(k)) != k; k = before) {
        if (is_one_of(before, "; } {")) break;
        if (is(before, "template")) return true;
        copied |= is_one_of(before, "inline __forceinline__ __inline__");
        own |= is(before, "static");
    }
    return copied && !own;
}

bool is_parameter_here(size_t i) {
    const struct function* f = around(i);
    return f && is_parameter(f, i);
}

// Functions of the C library that a kernel cannot call, on no device.
static const char host_library[] =
    "fprintf sprintf snprintf puts putchar fputs fopen fclose fread fwrite fflush scanf exit abort "
    "rand srand qsort getenv time system calloc realloc strlen strcmp strcpy atoi";

void check_call(size_t i) {
    static const char may_precede[] = "return else do case throw";
    const struct function* f = around(i);
    size_t before = previous(i);
    if (!f || !(f->global || (f->device && !f->host_too)) || !is(next(i), "(")) return;
    if (is_one_of(before, ". -> ::")) return;
    if (tokens[before].kind == WORD && !is_one_of(before, may_precede)) return;  // a declaration
    struct known known = look_up(i);
    if (known.any ? known.for_device : !is_one_of(i, host_library)) {
        if (known.any || strncmp(tokens[i].text, "cuda", 4) != 0) return;
        fail(i, "%.*s() is a function of the host; a kernel cannot call it", (int)tokens[i].length,
             tokens[i].text);
    }
    if (is_parameter(f, i)) return;
    fail(i, "%.*s() is a function of the host; %s", (int)tokens[i].length, tokens[i].text,
         known.any ? "write __device__ in front of it to call it from a kernel"
                   : "a kernel cannot call it");
}

// Warp functions without a mask, which CUDA 9 retired.
void check_retired(size_t i) {
    static const char retired[] = "__shfl __shfl_up __shfl_down __shfl_xor __any __all __ballot";
    if (is_one_of(i, retired) && is(next(i), "(") && !look_up(i).any)
        fail(i,
             "%.*s() is no longer in CUDA: use %.*s_sync() with the mask of the "
             "lanes that take part, 0xffffffff for all, as its first argument",
             (int)tokens[i].length, tokens[i].text, (int)tokens[i].length, tokens[i].text);
}
