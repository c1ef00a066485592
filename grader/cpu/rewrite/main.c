// Turns CUDA C into C++: rewrite IN.cu OUT.cpp SHOWN_NAME [UNSET]
//
// Three things of CUDA C are not C++, and only these are changed:
//   kernel<<<grid, block, bytes, stream>>>(arguments)     see include/cudev/launch.h
//   __shared__ float tile[16][16], *p;                    see include/cudev/language.h
//   extern __shared__ float buffer[];
// Inline PTX and calls of a kernel without <<< >>> become clear compiler errors. Line numbers stay
// the same and #line gives the shown name, so every message of the compiler, every breakpoint and
// every report points at the original. #include and other directives are left alone; #define bodies
// are rewritten; comments are left out (output.c).
//
// How: the source is cut into tokens; each token may get a replacement; then all are written out.
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "cpu/rewrite/rewrite.h"

// ---- launches ----

// The first token of the expression that ends at `last`: names, ::, template arguments, ( ), [ ].
static size_t expression_start(size_t last) {
    size_t i = last;
    for (;;) {
        if (is(i, ">") || is(i, ">>>") || is(i, ")") || is(i, "]")) {
            bool parenthesis = is(i, ")");
            i = matching_back(i);
            size_t before = previous(i);
            if (before == i) return i;
            if (tokens[before].kind != WORD && !is(before, "]") && !is(before, ")")) {
                if (parenthesis) return i;
                fail(tokens[last].line, "cannot find the kernel in front of <<<");
            }
            i = before;
            continue;
        }
        if (tokens[i].kind != WORD) fail(tokens[last].line, "<<< must follow the name of a kernel");
        size_t before = previous(i);
        if (before == i || (!is(before, "::") && !is(before, ".") && !is(before, "->"))) return i;
        size_t owner = previous(before);
        if (owner == before || (tokens[owner].kind != WORD && !is(owner, ">"))) return before;
        i = owner;
    }
}

static void rewrite_launch(size_t open) {
    size_t last = previous(open);
    if (last == open) fail(tokens[open].line, "<<< must follow the name of a kernel");
    check_launched(last);
    size_t first = expression_start(last);
    size_t close = next(open), sizes = 1;
    for (int depth = 0; !(depth == 0 && is(close, ">>>")); close = next(close)) {
        depth += opens(close) - closes(close);
        sizes += depth == 0 && is(close, ",");
        if (tokens[close].kind == END || depth < 0 || (depth == 0 && is(close, ";")))
            fail(tokens[open].line, "<<< has no matching >>>");
    }
    if (next(open) == close)
        fail(tokens[open].line, "<<< >>> is empty; write <<<blocks, threads_per_block>>>");
    // one word in capitals may be a macro for both
    bool macro = next(next(open)) == close && tokens[next(open)].kind == WORD;
    for (size_t k = 0; macro && k < tokens[next(open)].length; k++)
        macro = !islower((unsigned char)tokens[next(open)].text[k]);
    if (sizes == 1 && !macro)
        fail(tokens[open].line,
             "a launch needs two sizes: kernel<<<blocks, threads_per_block>>>(...)");
    if (!is(next(close), "("))
        fail(tokens[close].line, "the kernel's arguments (...) must follow >>>");
    struct text kernel = {0}, shown = {0};
    add_tokens(&kernel, first, last + 1);
    add_kernel_name(&shown, first, last);
    bool known = has_address(last);
    const char* parameters = parameters_of(last);
    replace(open, "%s::cudev::site(CUDEV_TEXT(%s), %s%s%s, %s%s%s, __FILE__, __LINE__, ",
            known ? ")>::at(" : "(cudev_arguments...); }, ", shown.data,
            *parameters ? "\"" : "nullptr", parameters, *parameters ? "\"" : "",
            known ? "(const void*)(" : "nullptr", known ? kernel.data : "", known ? ")" : "");
    replace(close, known ? "))" : ")}");
    replace(first, "%s%.*s",
            known ? "::cudev::known<(" : "::cudev::deduced{[=](auto... cudev_arguments) { ",
            (int)tokens[first].length, tokens[first].text);
    free(kernel.data);
    free(shown.data);
}

// A kernel called like a function runs nothing on a GPU; nvcc refuses it.
static void check_plain_call(size_t i) {
    static const char* const may_precede[] = {";", "{", "}", ")", "else", "do", ",", NULL};
    size_t after = next(i), before = previous(i);
    if (!is(after, "(") || !is_kernel(i) || before == i || !is_one_of(before, may_precede)) return;
    replace(i,
            "({ static_assert(false, \"a kernel is launched with <<<blocks, threads>>>: "
            "%.*s<<<...>>>(...)\"); %.*s; })",
            (int)tokens[i].length, tokens[i].text, (int)tokens[i].length, tokens[i].text);
}

// cudaLaunchKernel((const void*)kernel, ...): here the kernel's type says what the arguments are.
static void rewrite_launch_call(size_t i) {
    size_t open = next(i), cast = next(open), k = next(cast);
    if (!is(open, "(") || !is(cast, "(")) return;
    if (is(k, "const")) k = next(k);
    if (!is(k, "void") || !is(next(k), "*") || !is(next(next(k)), ")")) return;
    delete_tokens(cast, next(next(k)) + 1);
}

// ---- __shared__ ----

// Takes __align__(n), alignas(n) and storage words out of a declaration; returns the alignment.
static void take_out(size_t from, size_t to, struct text* align) {
    static const char* const drop[] = {"__shared__", "static", "extern", NULL};
    for (size_t i = from; i < to; i = next(i)) {
        if (is_one_of(i, drop)) {
            replace(i, "%s", "");
        } else if ((is(i, "__align__") || is(i, "alignas")) && is(next(i), "(")) {
            size_t open = next(i), close = matching(open);
            align->length = 0;
            add_tokens(align, open, close + 1);
            delete_tokens(i, close + 1);
            i = close;
        }
    }
    if (!align->length) add(align, "1");
}

static void add_kept(struct text* t, size_t from, size_t to) {
    for (size_t i = from; i < to; i++) {
        if (tokens[i].kind == SPACE || tokens[i].replacement) continue;
        add_bytes(t, tokens[i].text, tokens[i].length);
        add(t, " ");
    }
}

// The name in the declarator that starts at `from`: the last word before [ or the end. For the
// first declarator the words before it are the type. Angle brackets belong to the type.
static size_t declared_name(size_t from, size_t to) {
    size_t name = to;
    int angles = 0, braces = 0;
    bool named = false;
    for (size_t i = from; i < to; i = next(i)) {
        if (tokens[i].replacement) continue;
        braces += is(i, "{") - is(i, "}");
        angles += is(i, "<") - is(i, ">");
        if (angles > 0 || braces > 0) continue;
        if (is(i, "="))
            fail(tokens[i].line, "a __shared__ variable cannot have an initial value; let a thread "
                                 "write it, then __syncthreads()");
        if (is(i, "("))
            fail(tokens[i].line,
                 "cannot read this __shared__ declaration; give the type a name with "
                 "typedef first");
        named = named || is(i, "[");
        if (is(i, "[")) i = matching(i);
        if (tokens[i].kind == WORD && !named) name = i;
    }
    if (name == to) fail(tokens[from].line, "a __shared__ declaration without a name");
    return name;
}

static size_t end_of_declarator(size_t from, size_t end) {
    int depth = 0;
    for (size_t i = from; i < end; i = next(i)) {
        depth += opens(i) - closes(i) + is(i, "<") - is(i, ">");
        if (depth == 0 && is(i, ",")) return i;
    }
    return end;
}

static void add_dynamic(struct text* out, struct text* type, size_t name, size_t end,
                        bool file_scope) {
    size_t open = next(name);
    if (!is(open, "[") || !is(next(open), "]"))
        fail(tokens[name].line,
             "dynamic shared memory is declared as: extern __shared__ type name[];");
    if (file_scope) {
        add(out, "static const ::cudev::dynamic_array< ");
        add(out, type->data);
        add(out, "> ");
        add_tokens(out, name, name + 1);
        return;
    }
    add(out, "auto* const ");
    add_bytes(out, tokens[name].text, tokens[name].length);
    add(out, " = [] { typedef ");
    add(out, type->data);
    add(out, "cudev_type ");
    add_kept(out, next(next(open)), end);
    add(out, "; CUDEV_DYNAMIC(");
    add_bytes(out, tokens[name].text, tokens[name].length);
    add(out, "); }()");
}

static void add_static(struct text* out, struct text* type, size_t first, size_t name, size_t end,
                       const char* align) {
    add(out, "auto& ");
    add_bytes(out, tokens[name].text, tokens[name].length);
    add(out, " = *[] { typedef ");
    add(out, type->data);
    add_kept(out, first, name);  // the * of a pointer
    add(out, "cudev_type ");
    add_kept(out, name + 1, end);
    add(out,
        "; static_assert(sizeof(cudev_type) <= 48 * 1024, \"a __shared__ array has at most 48 KB; "
        "more needs extern __shared__ and cudaFuncSetAttribute\"); CUDEV_SHARED(");
    add_bytes(out, tokens[name].text, tokens[name].length);
    add(out, ", ");
    add(out, align);
    add(out, "); }()");
}

static size_t rewrite_shared(size_t shared, bool file_scope) {
    size_t from = shared, end = shared;
    bool dynamic = false;
    for (size_t k = previous(from); k != from; k = previous(from)) {
        bool aligned = is(k, ")") && (is(previous(matching_back(k)), "__align__") ||
                                      is(previous(matching_back(k)), "alignas"));
        if (tokens[k].kind != WORD && !aligned) break;
        from = aligned ? previous(matching_back(k)) : k;
        dynamic = dynamic || is(k, "extern");
    }
    while (!is(end, ";")) {
        dynamic = dynamic || is(end, "extern");
        if (opens(end)) end = matching(end);
        if (tokens[end].kind == END || closes(next(end)))
            fail(tokens[shared].line, "the __shared__ declaration does not end with ;");
        end = next(end);
    }
    if (file_scope && !dynamic)
        fail(tokens[shared].line, "declare __shared__ variables inside the kernel that uses them");

    struct text align = {0}, type = {0}, out = {0};
    take_out(from, end, &align);
    size_t name = declared_name(from, end_of_declarator(from, end)), star = name;
    for (size_t k = previous(star); k >= from && is(k, "*"); k = previous(star)) star = k;
    add_kept(&type, from, star);
    if (!type.length) fail(tokens[shared].line, "a __shared__ declaration without a type");
    for (size_t first = star;;) {
        size_t stop = end_of_declarator(first, end);
        name = declared_name(first, stop);
        if (dynamic)
            add_dynamic(&out, &type, name, stop, file_scope);
        else
            add_static(&out, &type, first, name, stop, align.data);
        if (stop == end) break;
        add(&out, "; ");
        first = next(stop);
    }
    delete_tokens(from, end);
    replace(shared, "%s", out.data);
    free(align.data);
    free(type.data);
    free(out.data);
    return end;
}

// ---- the whole file ----

static size_t rewrite_asm(size_t i) {
    size_t open = next(i), before = previous(i);
    while (tokens[open].kind == WORD) open = next(open);
    bool declares = tokens[before].kind == WORD && !is(before, "else") && !is(before, "do");
    if (!is(open, "(") || (before != i && declares)) return i;
    size_t close = matching(open);
    bool in_kernel = only_on_device(i);
    delete_tokens(i, close + 1);
    // other kernels of the file may still run; what reaches this one is told why not
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

bool opens_namespace(size_t i) {
    size_t before = previous(i);
    for (int words = 0; before != i && words < 8; words++) {
        if (is(before, "namespace")) return true;
        if (is(before, "\"C\"") || is(before, "\"C++\"")) return is(previous(before), "extern");
        if (tokens[before].kind != WORD && !is(before, "::")) return false;
        i = before;
        before = previous(i);
    }
    return false;
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

static void rewrite_all(void) {
    static const char* const asm_words[] = {"asm", "__asm__", "__asm", NULL};
    int depth = 0, outer_depth = 0;  // braces that are not namespaces; outer: around a #define
    bool in_define = false;
    int conditions = 0;  // of #if around: what stands there may be meant for nvcc alone
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
            rewrite_launch(i);
        else if (is(i, "__shared__"))
            i = rewrite_shared(i, depth == 0);
        else if (is(i, "__noinline__") && !is(previous(i), "("))
            replace(i, "__attribute__((noinline))");  // no macro: the C++ library uses that word
        else if (is_one_of(i, asm_words))
            i = rewrite_asm(i);
        else if (is(i, "cudaLaunchKernel"))
            rewrite_launch_call(i);
        else if (tokens[i].kind == WORD) {
            if (depth > 0) check_plain_call(i);
            if (!conditions) check_absent(i);
            if (!conditions) check_retired(i);
            if (!conditions && !in_define) check_call(i);
        }
        if (!in_define && parentheses == 0 && (is(i, ";") || is(i, "{") || is(i, "}")))
            unset_locals(i);
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
    if (memchr(t.data, '\0', t.length)) fail(1, "this is not a text file");
    // lines may end in \r\n; other control characters are blanks
    size_t kept = 0;
    for (size_t i = 0; i < t.length; i++) {
        bool line_end = t.data[i] == '\r' && t.data[i + 1] == '\n';
        if (line_end) continue;
        t.data[kept++] = strchr("\r\f\v", t.data[i]) ? ' ' : t.data[i];
    }
    t.data[kept] = '\0';
    return t.data;
}

int main(int argc, char** argv) {
    if (argc != 4 && argc != 5) {
        fprintf(stderr, "usage: rewrite IN.cu OUT.cpp SHOWN_NAME [UNSET]\n"
                        "UNSET is made, empty, if a warning names an array without values.\n");
        return EXIT_FAILURE;
    }
    shown_name = argv[3];
    cut(read_file(argv[1]));
    for (size_t i = 0; tokens[i].kind != END; i++)
        if (is(i, "__global__")) note_kernel(i);
    read_functions();
    check_variables();
    rewrite_all();
    write_out(argv[2]);
    if (argc == 5 && unset_array) {
        FILE* note = fopen(argv[4], "w");
        if (!note || fclose(note) != 0) return EXIT_FAILURE;
    }
    return EXIT_SUCCESS;
}
