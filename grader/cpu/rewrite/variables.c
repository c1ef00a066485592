// Which variables at file scope are the host's and which the device's. A kernel reaches only the
// device's. Host code reaches its own variables, and the device's through cudaMemcpyToSymbol() and
// similar functions. nvcc enforces this; here both kinds lie in the memory of one process.
#include "cpu/rewrite/rewrite.h"
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

enum owner { HOST, DEVICE, UNSURE };  // UNSURE: a macro of the file decides

static struct variable {
    size_t name;
    enum owner owner;
    bool in_kernel;  // some kernel, or helper of one, uses it
} * variables;
static size_t variable_count;

// The tokens of the file that are code, without bodies of macros; macros that stand for __device__.
static size_t* code;
static size_t code_count;
static struct text macros;  // " NAME NAME "

static const char device_words[] = "__device__ __constant__ __shared__";

static void add_macro(const struct token* head) {
    const char* end = head->text + head->length;
    while (end > head->text && !isalnum((unsigned char)end[-1]) && end[-1] != '_') end--;
    const char* begin = end;
    while (begin > head->text && (isalnum((unsigned char)begin[-1]) || begin[-1] == '_')) begin--;
    add(&macros, " ");
    add_bytes(&macros, begin, (size_t)(end - begin));
    add(&macros, " ");
}

static void collect(void) {
    bool in_define = false;
    const struct token* head = NULL;
    size_t count = 0;
    while (tokens[count].kind != END) count++;
    code = checked(malloc((count + 1) * sizeof *code));
    add(&macros, "");
    for (size_t i = 0; i < count; i++) {
        if (tokens[i].kind == SPACE) {
            bool before = in_define;
            in_define = in_define_after(i, in_define);
            if (in_define && !before) head = &tokens[i];
        } else if (!in_define) {
            code[code_count++] = i;
        } else if (is_one_of(i, device_words)) {
            add_macro(head);
        }
    }
    code[code_count] = count;
}

static bool stands_for_device(size_t word) {
    struct text t = {0};
    add(&t, " ");
    add_bytes(&t, tokens[word].text, tokens[word].length);
    add(&t, " ");
    bool found = strstr(macros.data, t.data) != NULL;
    free(t.data);
    return found;
}

// The place behind the bracket that closes the bracket at place c; the end of the file if none
// does.
static size_t behind(size_t c) {
    int depth = 0;
    for (; c < code_count; c++) {
        depth += opens(code[c]) - closes(code[c]);
        if (depth == 0) return c + 1;
    }
    return c;
}

static void note(size_t name, enum owner owner) {
    variables = checked(realloc(variables, (variable_count + 1) * sizeof *variables));
    variables[variable_count++] = (struct variable){name, owner, false};
}

// Notes the variables of the declaration at places [c, end), if it declares variables.
static void read_declaration(size_t c, size_t end) {
    static const char others[] =
        "typedef using template struct class union enum static_assert friend return";
    static const char with_parentheses[] = "__align__ alignas __attribute__ decltype";
    enum owner owner = HOST;
    bool constant = false, value = false;
    int words = 0, angles = 0;
    size_t name = code_count;
    for (size_t i = c; i <= end; i++) {
        size_t t = code[i];
        if (i == end || (angles == 0 && is(t, ","))) {
            if (name < code_count && words > 1 && !constant) note(code[name], owner);
            name = code_count;
            value = false;
            continue;
        }
        if (is_one_of(t, others)) return;
        if (is_one_of(t, device_words)) owner = DEVICE;
        if (tokens[t].kind == WORD && owner == HOST && stands_for_device(t)) owner = UNSURE;
        constant = is(t, "constexpr") || is(t, "const") || (constant && !is(t, "*"));
        if (is(t, "(") && !value) {
            if (i == c || !is_one_of(code[i - 1], with_parentheses)) return;  // a function
            name = code_count;
        }
        value |= is_one_of(t, "= [ {");
        if (!value) angles += is(t, "<") - is(t, ">");
        if (opens(t)) {
            i = behind(i) - 1;
        } else if (tokens[t].kind == WORD && !value && angles == 0) {
            name = i;
            words++;
        }
    }
}

static void read_variables(void) {
    for (size_t c = 0; c < code_count;) {
        size_t end = c;
        bool function = false;
        while (end < code_count && !is(code[end], ";") && !is(code[end], "}")) {
            if (is(code[end], "{")) {
                if (opens_namespace(code[end])) break;
                function = end > c && is(code[end - 1], ")");
                end = behind(end);
                if (function) break;
            } else {
                end = opens(code[end]) ? behind(end) : end + 1;
            }
        }
        if (!function && end < code_count && is(code[end], ";")) read_declaration(c, end);
        c = function ? end : end + 1;
    }
}

static struct variable* find(size_t word) {
    for (size_t i = 0; i < variable_count; i++)
        if (same_word(variables[i].name, word)) return &variables[i];
    return NULL;
}

// Does place c, in a function, declare a variable of the same name? `float b`, `float *a, b`.
static bool declares(size_t c) {
    static const char no_types[] = "return else case goto do sizeof";
    size_t first = c;
    int depth = 0;
    while (first > 0) {
        size_t t = code[first - 1];
        if (is_one_of(t, "; { }") || (depth == 0 && opens(t))) break;
        depth += closes(t) - opens(t);
        first--;
    }
    size_t before = code[c - 1];
    bool place = tokens[before].kind == WORD || is_one_of(before, "* & , >");
    bool typed = tokens[code[first]].kind == WORD && !is_one_of(code[first], no_types) &&
                 first < c &&
                 (tokens[code[first + 1]].kind == WORD || is_one_of(code[first + 1], "* < &"));
    return place && typed && !is_one_of(before, no_types);
}

static bool declared_in_function(size_t c) {
    for (size_t k = c + 1; k-- > 1 && function_side(code[k]) != NO_SIDE;)
        if (same_word(code[k], code[c]) && declares(k)) return true;
    return false;
}

// cudaMemcpyToSymbol(name, ...), sizeof name
static bool names_only(size_t c) {
    static const char calls[] =
        "cudaMemcpyToSymbol cudaMemcpyFromSymbol cudaGetSymbolAddress cudaGetSymbolSize sizeof";
    int depth = 0;
    for (size_t k = c; k-- > 1;) {
        size_t t = code[k];
        if (is_one_of(t, "; { }")) return false;
        if (depth == 0 && is_one_of(t, calls)) return true;
        if (depth == 0 && is(t, "(") && is_one_of(code[k - 1], calls)) return true;
        depth += closes(t) - opens(t);
        if (depth < 0) depth = 0;
    }
    return false;
}

static void check_use(size_t c, bool host) {
    size_t t = code[c];
    enum side side = function_side(t);
    if (tokens[t].kind != WORD || side == NO_SIDE || c == 0) return;
    if (is(code[c - 1], ".") || is(code[c - 1], "->")) return;
    struct variable* v = find(t);
    if (!v || is_parameter_here(t) || declared_in_function(c)) return;
    if (!host && side != HOST_SIDE) {
        v->in_kernel = true;
        if (v->owner == HOST)
            fail(tokens[t].line,
                 "%.*s is a variable of the host; write __device__ in front of it, or pass its "
                 "value to the kernel",
                 (int)tokens[t].length, tokens[t].text);
    }
    if (host && side == HOST_SIDE && !names_only(c) &&
        (v->owner == DEVICE || (v->owner == UNSURE && v->in_kernel)))
        fail(tokens[t].line,
             "%.*s is a variable of the device; host code copies it, with cudaMemcpyToSymbol() or "
             "cudaMemcpyFromSymbol()",
             (int)tokens[t].length, tokens[t].text);
}

void check_variables(void) {
    collect();
    read_variables();
    for (int host = 0; host < 2 && variable_count; host++)
        for (size_t c = 0; c < code_count; c++) check_use(c, host);
    free(code);
    free(macros.data);
    free(variables);
}
