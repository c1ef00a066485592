// Turns CUDA C into C++:
//   rewrite [--any | --host] IN.cu OUT.cpp SHOWN_NAME [UNSET [SAME.cu [WORDS.cpp [SIZES.cpp]]]]
//
// Three things of CUDA C are not C++, and only these are changed:
//   kernel<<<grid, block, bytes, stream>>>(arguments)     see include/cudev/launch.h
//   __shared__ float tile[16][16], *p;                    see include/cudev/language.h
//   extern __shared__ float buffer[];
// One more is told apart: *(float4*)p = {a, b, c, d} is one store (stores.c), as the members of a
// `const float4& v` are one load (references.c); and the members of a structure over dynamic shared
// memory are listed for reports (members.c).
// Inline PTX and calls of a kernel without <<< >>> become clear compiler errors. Line numbers stay
// the same and #line gives the shown name, so every message of the compiler, every breakpoint and
// every report points at the original. #include and other directives are left alone; #define bodies
// are rewritten; comments are left out (output.c).
//
// How: the source is cut into tokens; each token may get a replacement; then all are written out.
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "cpu/rewrite/rewrite.h"

static size_t rewrite_asm(size_t i) {
    size_t open = next(i), before = previous(i);
    while (tokens[open].kind == WORD) open = next(open);
    bool declares = tokens[before].kind == WORD && !is(before, "else") && !is(before, "do");
    if (!is(open, "(") || (before != i && declares)) return i;
    size_t close = matching(open);
    bool in_kernel = only_on_device(i);
    delete_tokens(i, close + 1);
    // other kernels of the file may still run; a thread that arrives here says why it ends
    if (in_kernel)
        replace(
            i,
            "::cudev_not_here(\"inline PTX\", \"lessons/ptx.h lists what there is\", __FILE__, %d)",
            tokens[i].line);
    else
        replace(i, "static_assert(false, \"not on the CPU device: inline PTX, lessons/ptx.h lists "
                   "what there is\")");
    return close;
}

// #if less #endif in white space.
static int count_conditions(const char* text, const char* end) {
    int count = 0;
    for (const char* p = text; p < end; p++) {
        if (*p != '#') continue;
        const char* word = p + 1 + strspn(p + 1, " \t");
        count += !strncmp(word, "if", 2);
        count -= !strncmp(word, "endif", 5);
    }
    return count;
}

// A GPU's compiler may put a function into a kernel or not. Here helpers have to become part of the
// kernel: then gcc announces what a structure is copied from, in a call as well.
static void rewrite_noinline(size_t i) {
    bool helper = false, bare = !is_one_of(previous(i), "( , ::");
    size_t before = i, after = i;
    do {
        before = previous(before);
        helper |= is(before, "__device__");
    } while (previous(before) != before && !is_one_of(before, "; { }"));
    for (; tokens[after].kind != END && !is_one_of(after, "; { }"); after = next(after))
        helper |= is(after, "__device__");
    if (helper)
        replace(i, bare ? "" : "unused");
    else if (bare)
        replace(i, "__attribute__((noinline))");  // no macro: the C++ library uses that word
}

// The word for a thing that this device lacks says more than its consequences. Around #if it may be
// meant for nvcc alone.
static void look_for_absent(void) {
    int conditions = any_source && has_include_guard() ? -1 : 0;
    bool in_define = false;  // of a macro that may have no use
    for (size_t i = 0; tokens[i].kind != END; i++) {
        const struct token* t = &tokens[i];
        if (t->kind == WORD && !conditions && !(any_source && in_define)) check_absent(i);
        if (t->kind == SPACE) {
            in_define = in_define_after(i, in_define);
            conditions = check_directives(i, conditions);
        }
    }
}

static void rewrite_all(void) {
    int depth = 0, outer_depth = 0;  // braces that are not namespaces; outer: around a #define
    bool in_define = false;
    int conditions = 0;  // of #if around: such code may be meant for nvcc alone
    bool is_namespace[256] = {false};
    int braces = 0, parentheses = 0;
    for (size_t i = 0; tokens[i].kind != END; i++) {
        if (tokens[i].kind == SPACE) {
            bool before = in_define;
            conditions += count_conditions(tokens[i].text, tokens[i].text + tokens[i].length);
            in_define = in_define_after(i, in_define);
            if (before) depth = in_define ? depth : outer_depth;
            if (in_define && !before) outer_depth = depth;
            if (in_define) depth = before ? depth : 1;
            continue;
        }
        parentheses = depth == 0 ? 0 : parentheses + is(i, "(") - is(i, ")");
        if (in_define) {
            // braces of a macro say nothing about where it will be used
        } else if (is(i, "{")) {
            bool space = opens_namespace(i);
            if (braces < 256) is_namespace[braces] = space;
            braces++;
            depth += !space;
        } else if (is(i, "}")) {
            if (braces > 0) braces--;
            if (!(braces < 256 && is_namespace[braces])) depth -= depth > 0;
        }
        if (is(i, "<<<"))
            rewrite_launch(i, in_define);
        else if (is(i, "__shared__"))
            i = rewrite_shared(i, depth == 0);
        else if (is_one_of(i, "noinline __noinline__"))
            rewrite_noinline(i);
        else if (is_one_of(i, "asm __asm__ __asm"))
            i = rewrite_asm(i);
        else if (is_one_of(i, "for while") && (in_define || on_device(i)))
            rewrite_loop(i, in_define);
        else if (is(i, "=") && !in_define && (on_device(i) || in_device_member(i)))
            rewrite_store(i);
        else if (is(i, "&") && !in_define)
            rewrite_reference(i);
        else if (is_one_of(i, "cudaLaunchKernel cudaLaunchKernelExC cudaLaunchCooperativeKernel"))
            rewrite_launch_call(i);
        else if (is(i, "cudaLaunchKernelEx"))
            rewrite_launch_ex(i);
        else if (tokens[i].kind == WORD) {
            if (depth > 0) check_plain_call(i);
            check_cluster(i);
            if (!conditions) check_retired(i);
            if (!conditions && !in_define) check_call(i);
            if (!conditions && !in_define && on_device(i)) rewrite_overlay(i);
        }
        if (!in_define && parentheses == 0 && (is_one_of(i, "; { }"))) unset_locals(i);
    }
}

static char* read_file(const char* name) {
    FILE* f = fopen(name, "rb");
    struct text t = {0};
    char buffer[65536];
    size_t n;
    if (!f) {
        fprintf(stderr, "rewrite: cannot read %s: %s\n", name, strerror(errno));
        exit(EXIT_FAILURE);
    }
    while ((n = fread(buffer, 1, sizeof buffer, f)) > 0) add_bytes(&t, buffer, n);
    bool failed = ferror(f);
    fclose(f);
    if (failed) {
        fprintf(stderr, "rewrite: cannot read %s: %s\n", name, strerror(errno));
        exit(EXIT_FAILURE);
    }
    add_bytes(&t, "", 0);
    if (strncmp(t.data, "\xff\xfe", 2) == 0 || strncmp(t.data, "\xfe\xff", 2) == 0)
        fail_here(1, NULL, "this text is in UTF-16; save it in UTF-8");
    if (memchr(t.data, '\0', t.length)) fail_here(1, NULL, "this is not a text file");
    if (strchr(t.data, '\r') && !strchr(t.data, '\n'))
        fail_here(1, NULL, "lines end with a carriage return alone; save the file with line feeds");
    // some editors put a byte order mark in front; lines may end in \r\n; other control characters
    // are blanks
    size_t kept = 0;
    for (size_t i = strncmp(t.data, "\xef\xbb\xbf", 3) == 0 ? 3 : 0; i < t.length; i++) {
        bool line_end = t.data[i] == '\r' && t.data[i + 1] == '\n';
        if (line_end) continue;
        t.data[kept++] = strchr("\r\f\v", t.data[i]) ? ' ' : t.data[i];
    }
    t.data[kept] = '\0';
    return t.data;
}

int main(int argc, char** argv) {
    bool host = argc > 1 && strcmp(argv[1], "--host") == 0;
    if (host || (argc > 1 && strcmp(argv[1], "--any") == 0)) {
        any_source = true;
        argv++;
        argc--;
    }
    if (argc < 4 || argc > 8) {
        fprintf(stderr, "usage: rewrite [--any | --host] IN.cu OUT.cpp SHOWN_NAME [UNSET [SAME.cu "
                        "[WORDS.cpp [SIZES.cpp]]]]\n"
                        "--any: a file that is not graded; it may use what cpu/any has.\n"
                        "--host: likewise, and it is C++ already.\n"
                        "UNSET is made, empty, if a warning names an array without values.\n"
                        "SAME.cu: IN.cu for nvcc, as a text that can be read in one way only.\n"
                        "WORDS.cpp: IN.cu for what a compiler has to say, in lines and columns;\n"
                        "SIZES.cpp: on what stands between <<< and >>>.\n");
        return EXIT_FAILURE;
    }
    shown_name = argv[3];
    cut(read_file(argv[1]));
    look_for_absent();
    if (host) {
        write_out(argv[2], true);
        return EXIT_SUCCESS;
    }
    check_braces();
    join_launches();
    for (size_t i = 0; tokens[i].kind != END; i++)
        if (is(i, "__global__")) note_kernel(i);
    read_functions();
    check_variables();
    rewrite_all();
    write_out(argv[2], true);
    if (argc >= 6) write_out(argv[5], false);
    if (argc >= 7) write_for_words(argv[6], false);
    if (argc == 8) write_for_words(argv[7], true);
    if (argc >= 5 && unset_array) {
        FILE* note = fopen(argv[4], "w");
        if (!note || fclose(note) != 0) return EXIT_FAILURE;
    }
    return EXIT_SUCCESS;
}
