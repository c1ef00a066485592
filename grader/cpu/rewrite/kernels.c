// The kernels of a file: their names, the names of their parameters, and which of them a launch
// means.
#include "cpu/rewrite/rewrite.h"
#include <stdlib.h>
#include <string.h>

enum { UNKNOWN_COUNT = -1 };
static struct kernel {
    const char* name;
    size_t length;
    int template_parameters;  // 0: an ordinary function
    char* parameters;         // their names: "out,in,n"; empty when one declaration has none
    char* cluster;            // "(2, 1, 1)"; NULL: none
} * kernels;
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

// The names between the parentheses at `open` and `close`: "out,in,n". Empty if some have none.
static char* parameter_names(size_t open, size_t close) {
    struct text names = {0};
    size_t last = open;  // the last word of the parameter, up to its default value or dimension
    bool named = false;
    int depth = 0, words = 0;
    add(&names, "");
    for (size_t i = next(open);; i = next(i)) {
        if (i == close || (depth == 0 && is(i, ","))) {
            // f(void), f(float*): nothing to go by; nor in f(int n = 1 < 2), where < is no bracket
            if (last == open || words < 2 || depth != 0) {
                names.data[0] = '\0';
                return names.data;
            }
            if (names.length) add(&names, ",");
            add_bytes(&names, tokens[last].text, tokens[last].length);
            if (i == close) return names.data;
            last = open;
            named = false;
            words = 0;
            continue;
        }
        depth += opens(i) - closes(i) + is(i, "<") - is(i, ">");
        named = named || is(i, "=") || is(i, "[");
        if (tokens[i].kind == WORD && depth == 0 && !named) {
            last = i;
            words++;
        }
        words += is(i, "*") || is(i, "&");
    }
}

// A kernel returns nothing. The words in front of __global__ are not read: they may be a macro's.
static void check_returns_void(size_t global, size_t name) {
    static const char types[] = "int unsigned float double char short long bool auto size_t";
    for (size_t i = global; i < name; i = next(i))
        if (is_one_of(i, types) && !is(next(i), "*"))
            fail(name,
                 "%.*s() is a kernel and returns void; what it computes goes to memory that a "
                 "parameter points at",
                 (int)tokens[name].length, tokens[name].text);
}

// Does the parameter list between `open` and `close` have one of the words from `first` on, up to
// `end`?
static bool has_word_of(size_t open, size_t close, size_t first, size_t end) {
    for (size_t i = first; i != end; i = next(i))
        for (size_t k = open; tokens[i].kind == WORD && k != close; k = next(k))
            if (tokens[k].kind == WORD && tokens[k].length == tokens[i].length &&
                memcmp(tokens[k].text, tokens[i].text, tokens[i].length) == 0)
                return true;
    return false;
}

// The kernel, whose parameters begin at `open`, asks as its first deed whether its block has more
// threads than the __launch_bounds__ at `bounds` say. There the words mean what they mean here,
// template parameters, too, if no parameter has such a name.
static void ask_bounds(size_t bounds, size_t open) {
    size_t first = next(next(bounds)), end = first, body = next(matching(open));
    for (; !is_one_of(end, ", )"); end = next(end)) {
        if (is(end, "<")) return;  // a comma may belong to a template's arguments
        if (is(end, "(")) end = matching(end);
    }
    if (!is(body, "{") || first == end || has_word_of(open, matching(open), first, end)) return;
    struct text most = {0};
    add_tokens(&most, first, end);
    replace(body, "{ ::cudev::bounded(%s);", most.data);
    free(most.data);
}

void note_kernel(size_t global) {
    static const char specifiers[] = "static inline extern void __global__ \"C\"";
    struct text cluster = {0};
    size_t bounds = 0;  // where __launch_bounds__ stands, if it does
    size_t name = global, i = next(global);
    for (; tokens[i].kind != END && !is(i, ";") && !is(i, "{"); i = next(i)) {
        if (is(i, "<")) return;  // an explicit instance of a template that was declared before
        if (!is(i, "(")) {
            name = i;
        } else if (is(name, "__cluster_dims__")) {
            add_tokens(&cluster, i, matching(i) + 1);
            i = matching(i);
        } else if (is(name, "__launch_bounds__") || is(name, "__attribute__")) {
            if (is(name, "__launch_bounds__")) bounds = name;
            i = matching(i);
        } else {
            break;
        }
    }
    if (!is(i, "(") || tokens[name].kind != WORD)
        fail(global, "__global__ is not followed by a function");
    check_returns_void(global, name);
    if (bounds) ask_bounds(bounds, i);
    int parameters = 0;
    size_t before = previous(global);
    while (is_one_of(before, specifiers) && previous(before) != before) before = previous(before);
    if (is(before, ">")) {
        size_t open = matching_back(before);
        if (is(previous(open), "template")) parameters = count_entries(open, before);
    }
    for (size_t k = i, end = matching(i); k < end; k = next(k))
        if (is(k, "="))
            parameters = UNKNOWN_COUNT;  // a default argument: let the compiler supply it
    struct kernel* known = find_kernel(name);
    char* names = parameter_names(i, matching(i));
    if (known) {
        if (!known->cluster) known->cluster = cluster.data;
        if (!*known->parameters) {
            free(known->parameters);
            known->parameters = names;
        } else {
            if (*names && strcmp(names, known->parameters) != 0) *known->parameters = '\0';
            free(names);
        }
        if (known->template_parameters != parameters) known->template_parameters = UNKNOWN_COUNT;
        return;
    }
    kernels = checked(realloc(kernels, (kernel_count + 1) * sizeof *kernels));
    kernels[kernel_count++] =
        (struct kernel){tokens[name].text, tokens[name].length, parameters, names, cluster.data};
}

bool is_kernel(size_t name) {
    return find_kernel(name) != NULL;
}

// The kernel whose name, with template arguments or not, ends at `last`; NULL: none of this file.
static const struct kernel* kernel_at(size_t last) {
    size_t name = is(last, ">") ? previous(matching_back(last)) : last;
    return tokens[name].kind == WORD ? find_kernel(name) : NULL;
}

bool named_at(size_t last) {
    return kernel_at(last) != NULL;
}

bool has_address(size_t last) {
    int arguments = 0;
    if (is(last, ">")) arguments = count_entries(matching_back(last), last);
    const struct kernel* k = kernel_at(last);
    return k && k->template_parameters == arguments;
}

// The = behind the name of a variable: p = ..., or (*p)(parameters) = ...; else another place.
static size_t equals_behind(size_t name) {
    size_t i = next(name);
    return is(i, ")") && is(previous(name), "*") && is(next(i), "(") ? next(matching(next(i))) : i;
}

// The kernel that stands at `value`, or the only one of those between which a condition chooses:
// its template arguments differ then. NULL: it is no kernel, or there are several.
static const struct kernel* chosen_at(size_t value) {
    const struct kernel* only = find_kernel(is(value, "&") ? next(value) : value);
    bool asks = false;
    for (size_t i = value; !only && tokens[i].kind != END && !is_one_of(i, "; { }"); i = next(i))
        if (is(i, "?")) asks = true;
    for (size_t i = value; asks && tokens[i].kind != END && !is_one_of(i, "; { }"); i = next(i)) {
        const struct kernel* k = tokens[i].kind == WORD ? find_kernel(i) : NULL;
        if (k && only && only != k) return NULL;
        only = k ? k : only;
    }
    return only;
}

// The only kernel that the file assigns to the pointer at `pointer`, NULL if there are several or
// none.
static const struct kernel* assigned_to(size_t pointer) {
    const struct kernel* only = NULL;
    if (tokens[pointer].kind != WORD) return NULL;
    for (size_t i = 0; tokens[i].kind != END; i++) {
        if (!same_word(i, pointer) || !is(equals_behind(i), "=")) continue;
        const struct kernel* k = chosen_at(next(equals_behind(i)));
        if (!k || (only && only != k)) return NULL;
        only = k;
    }
    return only;
}

const char* parameters_of(size_t last) {
    const struct kernel* k = kernel_at(last);
    if (!k) k = assigned_to(last);
    return k ? k->parameters : "";
}

void check_cluster(size_t i) {
    if (!is(i, "__cluster_dims__")) return;
    size_t before = i;
    while (previous(before) != before && !is_one_of(before, "; } { __global__"))
        before = previous(before);
    if (!is(before, "__global__"))
        fail(i, "write __cluster_dims__() between __global__ and the kernel's name");
}

const char* cluster_of(size_t last) {
    const struct kernel* k = kernel_at(last);
    if (!k) k = assigned_to(last);
    return k && k->cluster ? k->cluster : "(1)";
}

void add_kernel_name(struct text* t, size_t first, size_t last) {
    const struct kernel* k = kernel_at(last) ? NULL : assigned_to(last);
    if (k)
        add_bytes(t, k->name, k->length);
    else
        add_tokens(t, first, last + 1);
}
