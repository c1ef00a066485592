// Turns CUDA C into C++: rewrite IN.cu OUT.cpp SHOWN_NAME
//
// Three things of CUDA C are not C++, and only these are changed:
//   kernel<<<grid, block, bytes, stream>>>(arguments)     see include/cudev/launch.h
//   __shared__ float tile[16][16], *p;                    see include/cudev/language.h
//   extern __shared__ float buffer[];
// Inline PTX and calls of a kernel without <<< >>> become clear compiler errors.
// Line numbers stay the same and #line gives the shown name, so every message of the compiler, every
// breakpoint and every report points at the original. #include and other directives are left alone;
// #define bodies are rewritten.
//
// How: the source is cut into tokens; each token may get a replacement; then all are written out.
#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum kind { SPACE, WORD, PUNCTUATION, LITERAL, END };

struct token {
    enum kind kind;
    const char* text;
    size_t length;
    int line;
    char* replacement;  // printed instead of the text unless NULL
};

static const char* shown_name;
static struct token* tokens;
static size_t token_count;

static void fail(int line, const char* format, ...) {
    va_list args;
    va_start(args, format);
    fprintf(stderr, "%s:%d: error: ", shown_name, line);
    vfprintf(stderr, format, args);
    fputc('\n', stderr);
    va_end(args);
    exit(EXIT_FAILURE);
}

static void* checked(void* memory) {
    if (!memory) {
        fprintf(stderr, "rewrite: out of memory\n");
        exit(EXIT_FAILURE);
    }
    return memory;
}

// A growing string.
struct text {
    char* data;
    size_t length, capacity;
};

static void add_bytes(struct text* t, const char* bytes, size_t n) {
    if (t->length + n + 1 > t->capacity) {
        t->capacity = 2 * (t->length + n) + 64;
        t->data = checked(realloc(t->data, t->capacity));
    }
    memcpy(t->data + t->length, bytes, n);
    t->length += n;
    t->data[t->length] = '\0';
}

static void add(struct text* t, const char* string) {
    add_bytes(t, string, strlen(string));
}

// ---- cutting into tokens ----

static size_t length_of_string(const char* p, int line) {
    size_t i = 1;
    while (p[i] != p[0]) {
        if (p[i] == '\0' || p[i] == '\n') fail(line, "missing terminating %c", p[0]);
        i += p[i] == '\\' && p[i + 1] ? 2 : 1;
    }
    return i + 1;
}

static size_t length_of_raw_string(const char* p, int line) {
    const char* open = strchr(p, '(');
    size_t delimiter = open ? (size_t)(open - p) - 2 : 0;  // p points at R"
    if (!open || delimiter > 16) fail(line, "malformed raw string");
    for (const char* q = open; (q = strchr(q, ')')); q++)
        if (strncmp(q + 1, p + 2, delimiter) == 0 && q[1 + delimiter] == '"')
            return (size_t)(q - p) + delimiter + 2;
    fail(line, "raw string does not end");
    return 0;
}

// A directive up to the end of its line, continuation lines included.
static size_t length_of_directive(const char* p) {
    size_t i = 0;
    while (p[i] && p[i] != '\n') {
        if (p[i] == '/' && p[i + 1] == '*') {
            const char* end = strstr(p + i + 2, "*/");
            if (!end) break;
            i = (size_t)(end - p) + 2;
        } else {
            i += p[i] == '\\' && p[i + 1] == '\n' ? 2 : 1;
        }
    }
    return i;
}

// Up to the end of "#define NAME" or "#define NAME(": what follows is code.
static size_t length_of_define_head(const char* p) {
    size_t i = 1;
    while (p[i] == ' ' || p[i] == '\t') i++;
    if (strncmp(p + i, "define", 6) != 0 || isalnum((unsigned char)p[i + 6])) return 0;
    i += 6;
    while (p[i] == ' ' || p[i] == '\t') i++;
    while (isalnum((unsigned char)p[i]) || p[i] == '_') i++;
    return i;
}

static size_t length_of_space(const char* p, int line, bool line_start) {
    size_t i = 0;
    for (;;) {
        if (isspace((unsigned char)p[i])) {
            line_start = line_start || p[i] == '\n';
            i++;
        } else if (p[i] == '\\' && p[i + 1] == '\n') {
            i += 2;
        } else if (p[i] == '/' && p[i + 1] == '/') {
            while (p[i] && p[i] != '\n') i += p[i] == '\\' && p[i + 1] ? 2 : 1;
        } else if (p[i] == '/' && p[i + 1] == '*') {
            const char* end = strstr(p + i + 2, "*/");
            for (size_t k = 0; !end && k < i; k++) line += p[k] == '\n';
            if (!end) fail(line, "comment does not end");
            i = (size_t)(end - p) + 2;
        } else if (p[i] == '#' && line_start) {
            size_t head = length_of_define_head(p + i);
            i += head ? head : length_of_directive(p + i);
            line_start = false;
        } else {
            return i;
        }
    }
}

static bool is_word(char c) {
    return isalnum((unsigned char)c) || c == '_' || c == '$' || (unsigned char)c >= 0x80;
}

static size_t length_of_token(const char* p, int line, enum kind* kind) {
    *kind = LITERAL;
    if (*p == '"') return length_of_string(p, line);
    if (isdigit((unsigned char)*p) || (*p == '.' && isdigit((unsigned char)p[1]))) {
        size_t i = 1;  // 1'000, 0x1p-3, 1e+5
        while (is_word(p[i]) || p[i] == '.' || (p[i] == '\'' && is_word(p[i + 1])) ||
               ((p[i] == '+' || p[i] == '-') && strchr("eEpP", p[i - 1])))
            i++;
        return i;
    }
    if (*p == '\'') return length_of_string(p, line);
    if (is_word(*p)) {
        size_t i = 1;
        while (is_word(p[i])) i++;
        if (p[i] == '"' && p[i - 1] == 'R' && i <= 3)
            return i - 1 + length_of_raw_string(p + i - 1, line);
        *kind = WORD;
        return i;
    }
    *kind = PUNCTUATION;
    return strncmp(p, "<<<", 3) == 0 || strncmp(p, ">>>", 3) == 0 ? 3
           : strncmp(p, "::", 2) == 0 || strncmp(p, "->", 2) == 0 ? 2
                                                                  : 1;
}

static void cut(const char* source) {
    size_t capacity = 0;
    int line = 1;
    bool start = true;
    for (const char* p = source;;) {
        if (token_count + 2 > capacity) {
            capacity = capacity ? 2 * capacity : 4096;
            tokens = checked(realloc(tokens, capacity * sizeof *tokens));
        }
        struct token t = {SPACE, p, length_of_space(p, line, start), line, NULL};
        if (t.length == 0) t.length = *p ? length_of_token(p, line, &t.kind) : 0;
        if (t.length == 0) t.kind = END;
        tokens[token_count++] = t;
        if (t.kind == END) return;
        for (size_t i = 0; i < t.length; i++) line += p[i] == '\n';
        p += t.length;
        start = false;
    }
}

// ---- looking at tokens; positions skip white space ----

static bool is(size_t i, const char* text) {
    return tokens[i].kind != SPACE && tokens[i].kind != END &&
           tokens[i].length == strlen(text) && memcmp(tokens[i].text, text, tokens[i].length) == 0;
}

static bool is_one_of(size_t i, const char* const* list) {
    for (; *list; list++)
        if (is(i, *list)) return true;
    return false;
}

static size_t next(size_t i) {
    while (tokens[i].kind != END && tokens[++i].kind == SPACE) {}
    return i;
}

// The token before i, or i itself at the beginning of the file or of a #define body.
static size_t previous(size_t i) {
    for (size_t k = i; k-- > 0;) {
        if (tokens[k].kind != SPACE) return k;
        if (memchr(tokens[k].text, '#', tokens[k].length)) return i;
    }
    return i;
}

static bool opens(size_t i) {
    return is(i, "(") || is(i, "[") || is(i, "{");
}

static bool closes(size_t i) {
    return is(i, ")") || is(i, "]") || is(i, "}");
}

// The bracket that closes the one at `open`.
static size_t matching(size_t open) {
    int depth = 0;
    for (size_t i = open; tokens[i].kind != END; i = next(i)) {
        depth += opens(i) - closes(i);
        if (depth == 0) return i;
    }
    fail(tokens[open].line, "'%.1s' is not closed", tokens[open].text);
    return open;
}

// The bracket or angle bracket that opens the one at `close`, going backwards.
static size_t matching_back(size_t close) {
    bool angle = is(close, ">") || is(close, ">>>");
    int depth = 0, angles = 0;
    for (size_t i = close;;) {
        depth += closes(i) - opens(i);
        if (angle && depth == 0)
            angles += is(i, ">") + 3 * is(i, ">>>") - is(i, "<") - 3 * is(i, "<<<");
        if (depth == 0 && angles <= 0) return i;
        size_t before = previous(i);
        if (before == i || depth < 0 || is(i, ";")) break;
        i = before;
    }
    fail(tokens[close].line, "cannot find what '%.1s' closes", tokens[close].text);
    return close;
}

// Tokens [from, to) as one line.
static void add_tokens(struct text* t, size_t from, size_t to) {
    bool space = false;
    for (size_t i = from; i < to; i++) {
        if (tokens[i].kind == SPACE) {
            space = true;
            continue;
        }
        if (space && t->length) add(t, " ");
        space = false;
        add_bytes(t, tokens[i].text, tokens[i].length);
    }
}

static void replace(size_t i, const char* format, ...) {
    va_list args, again;
    va_start(args, format);
    va_copy(again, args);
    size_t size = (size_t)vsnprintf(NULL, 0, format, args) + 1;
    free(tokens[i].replacement);
    tokens[i].replacement = checked(malloc(size));
    vsnprintf(tokens[i].replacement, size, format, again);
    va_end(again);
    va_end(args);
}

static void delete_tokens(size_t from, size_t to) {
    for (size_t i = from; i < to; i++)
        if (tokens[i].kind != SPACE) replace(i, "%s", "");
}

// ---- kernels this file declares ----

enum { UNKNOWN_COUNT = -1 };
static struct kernel {
    const char* name;
    size_t length;
    int template_parameters;  // 0: an ordinary function
}* kernels;
static size_t kernel_count;

static struct kernel* find_kernel(size_t i) {
    for (size_t k = 0; k < kernel_count; k++)
        if (kernels[k].length == tokens[i].length &&
            memcmp(kernels[k].name, tokens[i].text, tokens[i].length) == 0)
            return &kernels[k];
    return NULL;
}

// Number of comma-separated entries between the angle brackets at `open` and `close`.
static int count_entries(size_t open, size_t close) {
    int count = 1, depth = 0;
    if (next(open) == close) return 0;
    for (size_t i = next(open); i != close; i = next(i)) {
        depth += opens(i) - closes(i) + is(i, "<") - is(i, ">");
        if (depth == 0 && is(i, ",")) count++;
        if (is(i, ".")) return UNKNOWN_COUNT;  // a parameter pack
    }
    return count;
}

static void note_kernel(size_t global) {
    static const char* const specifiers[] = {"static", "inline", "extern", "void", "__global__",
                                             "\"C\"",  NULL};
    size_t name = global, i = next(global);
    for (; tokens[i].kind != END && !is(i, ";") && !is(i, "{"); i = next(i)) {
        if (!is(i, "(")) {
            name = i;
        } else if (is(name, "__launch_bounds__") || is(name, "__attribute__")) {
            i = matching(i);
        } else {
            break;
        }
    }
    if (!is(i, "(") || tokens[name].kind != WORD)
        fail(tokens[global].line, "__global__ is not followed by a function");
    int parameters = 0;
    size_t before = previous(global);
    while (is_one_of(before, specifiers) && previous(before) != before) before = previous(before);
    if (is(before, ">")) {
        size_t open = matching_back(before);
        if (is(previous(open), "template")) parameters = count_entries(open, before);
    }
    for (size_t k = i, end = matching(i); k < end; k = next(k))
        if (is(k, "=")) parameters = UNKNOWN_COUNT;  // a default argument: let the compiler supply it
    struct kernel* known = find_kernel(name);
    if (known) {
        if (known->template_parameters != parameters) known->template_parameters = UNKNOWN_COUNT;
        return;
    }
    kernels = checked(realloc(kernels, (kernel_count + 1) * sizeof *kernels));
    kernels[kernel_count++] =
        (struct kernel){tokens[name].text, tokens[name].length, parameters};
}

// Can `(const void *)(expression)` be written for a kernel expression that ends before `end`? Only
// if it names one function for certain; the launch then knows the kernel's shared memory limit.
static bool has_address(size_t last) {
    int arguments = 0;
    size_t name = last;
    if (is(last, ">")) {
        size_t open = matching_back(last);
        arguments = count_entries(open, last);
        name = previous(open);
    }
    const struct kernel* k = tokens[name].kind == WORD ? find_kernel(name) : NULL;
    return k && k->template_parameters == arguments;
}

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
    size_t first = expression_start(last);
    size_t close = next(open);
    for (int depth = 0; !(depth == 0 && is(close, ">>>")); close = next(close)) {
        depth += opens(close) - closes(close);
        if (tokens[close].kind == END || depth < 0 || (depth == 0 && is(close, ";")))
            fail(tokens[open].line, "<<< has no matching >>>");
    }
    if (next(open) == close)
        fail(tokens[open].line, "<<< >>> is empty; write <<<blocks, threads_per_block>>>");
    if (!is(next(close), "("))
        fail(tokens[close].line, "the kernel's arguments (...) must follow >>>");
    struct text kernel = {0};
    add_tokens(&kernel, first, last + 1);
    bool known = has_address(last);
    replace(open, "%s::cudev::site(CUDEV_TEXT(%s), %s%s%s, __FILE__, __LINE__, ",
            known ? ")>::at(" : "(cudev_arguments...); }, ", kernel.data,
            known ? "(const void*)(" : "nullptr", known ? kernel.data : "", known ? ")" : "");
    replace(close, known ? "))" : ")}");
    replace(first, "%s%.*s",
            known ? "::cudev::known<(" : "::cudev::deduced{[&](auto... cudev_arguments) { ",
            (int)tokens[first].length, tokens[first].text);
    free(kernel.data);
}

// A kernel called like a function runs nothing on a GPU; nvcc refuses it.
static void check_plain_call(size_t i) {
    static const char* const may_precede[] = {";", "{", "}", ")", "else", "do", ",", NULL};
    size_t after = next(i), before = previous(i);
    if (!is(after, "(") || !find_kernel(i) || before == i || !is_one_of(before, may_precede)) return;
    replace(i,
            "({ static_assert(false, \"a kernel is launched with <<<blocks, threads>>>: "
            "%.*s<<<...>>>(...)\"); %.*s; })",
            (int)tokens[i].length, tokens[i].text, (int)tokens[i].length, tokens[i].text);
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

// The name in the declarator that starts at `from`: the last word before [ or the end. For the first
// declarator the words before it are the type. Angle brackets belong to the type.
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
            fail(tokens[i].line, "cannot read this __shared__ declaration; give the type a name with "
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

static void add_dynamic(struct text* out, struct text* type, size_t name, size_t end, bool file_scope) {
    size_t open = next(name);
    if (!is(open, "[") || !is(next(open), "]"))
        fail(tokens[name].line, "dynamic shared memory is declared as: extern __shared__ type name[];");
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
    add(out, "; return (cudev_type*)::cudev_dynamic_shared(); }()");
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
    add(out, "; static_assert(sizeof(cudev_type) <= 48 * 1024, \"a __shared__ array has at most 48 KB; "
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
    size_t open = next(i);
    while (tokens[open].kind == WORD) open = next(open);
    if (!is(open, "(") || tokens[previous(i)].kind == WORD) return i;
    size_t close = matching(open);
    delete_tokens(i, close + 1);
    replace(i, "static_assert(false, \"inline PTX: use the helpers of ptx.h\")");
    return close;
}

// Does the { at `i` open a namespace or extern "C" block?
static bool opens_namespace(size_t i) {
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

static void rewrite_all(void) {
    static const char* const asm_words[] = {"asm", "__asm__", "__asm", NULL};
    int depth = 0, outer_depth = 0;  // braces that are not namespaces; outer: around a #define
    bool in_define = false;
    bool is_namespace[256] = {false};
    int braces = 0;
    for (size_t i = 0; tokens[i].kind != END; i++) {
        if (tokens[i].kind == SPACE) {
            const char *text = tokens[i].text, *end = text + tokens[i].length;
            for (const char* p = text; in_define && p < end; p++)
                if (*p == '\n' && (p == text || p[-1] != '\\')) {
                    in_define = false;
                    depth = outer_depth;
                }
            const char* hash = memchr(text, '#', tokens[i].length);
            if (hash && end[-1] != '\n' && tokens[i + 1].kind != END) {
                in_define = true;
                outer_depth = depth;
                depth = 1;
            }
            continue;
        }
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
        else if (is_one_of(i, asm_words))
            i = rewrite_asm(i);
        else if (depth > 0 && tokens[i].kind == WORD)
            check_plain_call(i);
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
    return t.data;
}

static void write_file(const char* name) {
    FILE* f = fopen(name, "wb");
    bool failed = !f;
    if (f) {
        fprintf(f, "#line 1 \"%s\"\n", shown_name);
        for (size_t i = 0; tokens[i].kind != END; i++) {
            if (tokens[i].replacement)
                fputs(tokens[i].replacement, f);
            else
                fwrite(tokens[i].text, 1, tokens[i].length, f);
        }
        failed = ferror(f);
        failed = fclose(f) != 0 || failed;
    }
    if (failed) {
        fprintf(stderr, "rewrite: cannot write %s: %s\n", name, strerror(errno));
        exit(EXIT_FAILURE);
    }
}

int main(int argc, char** argv) {
    if (argc != 4) {
        fprintf(stderr, "usage: rewrite IN.cu OUT.cpp SHOWN_NAME\n");
        return EXIT_FAILURE;
    }
    shown_name = argv[3];
    cut(read_file(argv[1]));
    for (size_t i = 0; tokens[i].kind != END; i++)
        if (is(i, "__global__")) note_kernel(i);
    rewrite_all();
    write_file(argv[2]);
    return EXIT_SUCCESS;
}
