// Which variables at file scope are the host's and which the device's. A kernel reaches only the
// device's. Host code reaches its own variables, and the device's through cudaMemcpyToSymbol() and
// similar functions. nvcc enforces this; here both kinds lie in the memory of one process. So those
// of the device get sections of their own, which are closed to host code (device/symbols.c).
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

// The tokens of the file that are code, without bodies of macros; macros that stand for __device__
// and those that stand for __constant__.
static size_t* code;
static size_t code_count;
static struct text macros, constant_macros;  // " NAME NAME "

static const char device_words[] = "__device__ __constant__ __shared__";

static void add_macro(struct text* list, const struct token* head) {
    const char* end = head->text + head->length;
    while (end > head->text && !isalnum((unsigned char)end[-1]) && end[-1] != '_') end--;
    const char* begin = end;
    while (begin > head->text && (isalnum((unsigned char)begin[-1]) || begin[-1] == '_')) begin--;
    add(list, " ");
    add_bytes(list, begin, (size_t)(end - begin));
    add(list, " ");
}

static void collect(void) {
    bool in_define = false;
    const struct token* head = NULL;
    size_t count = 0;
    while (tokens[count].kind != END) count++;
    code = checked(malloc((count + 1) * sizeof *code));
    add(&macros, "");
    add(&constant_macros, "");
    for (size_t i = 0; i < count; i++) {
        if (tokens[i].kind == SPACE) {
            bool before = in_define;
            in_define = in_define_after(i, in_define);
            if (in_define && !before) head = &tokens[i];
        } else if (!in_define) {
            code[code_count++] = i;
        } else if (is_one_of(i, device_words)) {
            add_macro(&macros, head);
            if (is(i, "__constant__")) add_macro(&constant_macros, head);
        }
    }
    code[code_count] = count;
}

static bool is_in(const struct text* list, size_t word) {
    struct text t = {0};
    add(&t, " ");
    add_bytes(&t, tokens[word].text, tokens[word].length);
    add(&t, " ");
    bool found = strstr(list->data, t.data) != NULL;
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

// Does a declaration at places [c, end) give its variables other values than zero?
static bool has_values(size_t c, size_t end) {
    static const char zeros[] = "= { } , 0 0u 0.0 0.0f 0.f NULL nullptr false";
    while (c < end && !is(code[c], "=") && !is(code[c], "{"))
        c = is(code[c], "[") ? behind(c) : c + 1;
    for (; c < end; c++)
        if (!is_one_of(code[c], zeros)) return true;
    return false;
}

// Puts the variables that places [c, end) declare into memory of the device; `word` says there that
// they are the device's.
static void place_on_device(size_t c, size_t end, size_t word, bool constant) {
    size_t last = code[word];
    bool in_constant = false;
    for (size_t i = c; i < end; i++) {
        if (is(code[i], "extern") && !is(code[i + 1], "\"C\"")) return;  // the definition says it
        if (is(code[i], "inline")) delete_tokens(code[i], code[i] + 1);  // there is one file
        in_constant |= is(code[i], "__constant__") || is_in(&constant_macros, code[i]);
    }
    replace(last, "%.*s CUDEV_%s_%s", (int)tokens[last].length, tokens[last].text,
            in_constant ? "CONSTANT" : "DEVICE",
            constant             ? "CONST"
            : has_values(c, end) ? "VALUE"
                                 : "ZERO");
}

// The last place of a type that begins with struct, class, union or enum at place i: of its tag, or
// of its body. The type ends before place `end`.
static size_t end_of_type(size_t i, size_t end) {
    static const char alignment[] = "__align__ alignas __attribute__";
    while (i + 1 < end) {
        if (is_one_of(code[i + 1], alignment) || is(code[i + 1], "["))
            i = behind(i + 1 + is_one_of(code[i + 1], alignment)) - 1;
        else if (is_one_of(code[i], "struct class union enum ) ]") &&
                 tokens[code[i + 1]].kind == WORD)
            i++;
        else
            break;
    }
    size_t body = i + 1;
    while (is(code[i + 1], ":") && body < end && !is(code[body], "{")) body++;
    return body < end && is(code[body], "{") ? behind(body) - 1 : i;
}

// Behind template at place i: the > that closes its parameters.
static size_t end_of_parameters(size_t i, size_t end) {
    int depth = 0;
    do {
        i++;
        depth += is(code[i], "<") - is(code[i], ">");
    } while (depth > 0 && i < end);
    return i;
}

// At place i, a declarator in parentheses: float (*f)(float)?
static bool is_pointer_declarator(size_t i, size_t end) {
    return i + 3 < end && is(code[i + 1], "*") && tokens[code[i + 2]].kind == WORD &&
           is_one_of(code[i + 3], ") [");
}

// Notes the variables of the declaration at places [c, end), if it declares variables.
static void read_declaration(size_t c, size_t end) {
    static const char others[] = "typedef using namespace static_assert friend return __shared__";
    static const char with_parentheses[] = "__align__ alignas __attribute__ decltype";
    enum owner owner = HOST;
    bool constant = false, value = false, generic = false, variable = false;
    int words = 0, angles = 0;
    size_t name = code_count, says = c;
    for (size_t i = c; i <= end; i++) {
        size_t t = code[i];
        if (i == end || (angles == 0 && is(t, ","))) {
            variable |= name < code_count && words > 1;
            if (name < code_count && words > 1 && !constant) note(code[name], owner);
            name = code_count;
            value = false;
            continue;
        }
        if (is_one_of(t, others)) return;
        if (is(t, "__managed__")) {  // everybody's: there is nothing to check
            replace(t, "CUDEV_MANAGED");
            return;
        }
        if (is(t, "template") || is_one_of(t, "struct class union enum")) {
            bool parameters = is(t, "template");
            if (parameters && !is(code[i + 1], "<")) return;
            generic |= parameters;
            i = parameters ? end_of_parameters(i, end) : end_of_type(i, end);
            words += !parameters;
            name = code_count;
            continue;
        }
        bool says_device = is_one_of(t, device_words);
        if (says_device || (owner == HOST && tokens[t].kind == WORD && is_in(&macros, t))) {
            owner = says_device ? DEVICE : UNSURE;
            says = i;
        }
        // (a * in a value is a product, and takes nothing away)
        if (!value) constant = is(t, "constexpr") || is(t, "const") || (constant && !is(t, "*"));
        if (is(t, "(") && !value) {
            if (is_pointer_declarator(i, end)) {
                name = i + 2;
                i = behind(i) - 1;
                if (i + 1 < end && is(code[i + 1], "(")) i = behind(i + 1) - 1;
                constant = false;
                continue;
            }
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
    if (!variable || owner == HOST) return;
    if (generic)
        fail(code[says], "not on the CPU device: a template of variables of the "
                         "device; write one for each type");
    place_on_device(c, end, says, constant);
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
        "cudaMemcpyToSymbol cudaMemcpyFromSymbol cudaMemcpyToSymbolAsync "
        "cudaMemcpyFromSymbolAsync cudaGetSymbolAddress cudaGetSymbolSize sizeof";
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
            fail(t,
                 "%.*s is a variable of the host; write __device__ in front of it, or pass its "
                 "value to the kernel",
                 (int)tokens[t].length, tokens[t].text);
    }
    if (host && side == HOST_SIDE && !names_only(c) &&
        (v->owner == DEVICE || (v->owner == UNSURE && v->in_kernel)))
        fail(t,
             "%.*s is a variable of the device; host code copies it, with cudaMemcpyToSymbol() or "
             "cudaMemcpyFromSymbol()",
             (int)tokens[t].length, tokens[t].text);
}

// Which argument of the call around place c it stands in, from 1, and the place of the call's name;
// 0: in none.
static int argument_of(size_t c, size_t* call) {
    int depth = 0, argument = 1;
    for (size_t k = c; k-- > 1;) {
        size_t t = code[k];
        if (is_one_of(t, "; { }")) return 0;
        if (depth == 0 && is(t, "(")) {
            *call = k - 1;
            return argument;
        }
        argument += depth == 0 && is(t, ",");
        depth += closes(t) - opens(t);
    }
    return 0;
}

// cudaMemcpyToSymbol(name, ...) and its relatives take variables of the device.
static void check_symbol(size_t c) {
    size_t t = code[c], call = 0;
    if (tokens[t].kind != WORD || function_side(t) != HOST_SIDE || c == 0) return;
    const struct variable* v = find(t);
    if (!v || v->owner != HOST || is_parameter_here(t) || declared_in_function(c)) return;
    if (!is_one_of(code[c - 1], "( ,") || !is_one_of(code[c + 1], ") ,")) return;
    int argument = argument_of(c, &call);
    bool first =
        argument == 1 && is_one_of(code[call], "cudaMemcpyToSymbol cudaMemcpyToSymbolAsync");
    bool second =
        argument == 2 &&
        is_one_of(code[call], "cudaMemcpyFromSymbol cudaMemcpyFromSymbolAsync cudaGetSymbolAddress "
                              "cudaGetSymbolSize");
    if (first || second)
        fail(t,
             "%.*s is a variable of the host; %.*s() takes a __device__ or __constant__ variable",
             (int)tokens[t].length, tokens[t].text, (int)tokens[code[call]].length,
             tokens[code[call]].text);
}

// A static variable of a kernel or its helper is the device's, too.
static void place_static(size_t c) {
    size_t t = code[c], end = c;
    enum side side = function_side(t);
    if (!is(t, "static") || (side != DEVICE_SIDE && side != BOTH_SIDES)) return;
    bool constant = false, shared = false;
    for (; end < code_count && !is(code[end], ";");
         end = opens(code[end]) ? behind(end) : end + 1) {
        size_t k = code[end];
        shared |= is(k, "__shared__") || is(k, "static_assert");
        if (is_one_of(k, "= { [")) continue;
        constant = is_one_of(k, "const constexpr") || (constant && !is(k, "*"));
    }
    if (constant || shared) return;
    if (is_copied_function(t))
        fail(
            t,
            "not on the CPU device: a static variable in an inline function or template; make it a "
            "__device__ variable outside of functions");
    replace(t, "static %s", has_values(c, end) ? "CUDEV_DEVICE_VALUE" : "CUDEV_DEVICE_ZERO");
}

void check_variables(void) {
    collect();
    read_variables();
    for (size_t c = 0; c < code_count; c++) place_static(c);
    for (size_t c = 0; c < code_count && variable_count; c++) check_symbol(c);
    for (int host = 0; host < 2 && variable_count; host++)
        for (size_t c = 0; c < code_count; c++) check_use(c, host);
    free(code);
    free(macros.data);
    free(constant_macros.data);
    free(variables);
}
