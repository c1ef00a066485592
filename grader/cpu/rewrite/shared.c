// Declarations of shared memory, see include/cudev/language.h.
#include "cpu/rewrite/rewrite.h"
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// Takes __align__(n), alignas(n) and storage words out of a declaration; returns the alignment.
static void take_out(size_t from, size_t to, struct text* align) {
    for (size_t i = from; i < to; i = next(i)) {
        if (is_one_of(i, "__shared__ static extern")) {
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

// Tokens [from, to) but those that were taken out, and a blank. Tokens that stood together stay
// together: << and == are two tokens each.
static void add_kept(struct text* t, size_t from, size_t to) {
    bool any = false, apart = false;
    for (size_t i = from; i < to; i++) {
        bool kept = tokens[i].kind != SPACE && !tokens[i].replacement;
        apart = apart || !kept;
        if (!kept) continue;
        if (any && apart) add(t, " ");
        add_bytes(t, tokens[i].text, tokens[i].length);
        any = true, apart = false;
    }
    if (any) add(t, " ");
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
            fail(i, "a __shared__ variable cannot have an initial value; let a thread "
                    "write it, then __syncthreads()");
        if (is(i, "("))
            fail(i, "cannot read this __shared__ declaration; give the type a name with "
                    "typedef first");
        named = named || is(i, "[");
        if (is(i, "[")) i = matching(i);
        if (tokens[i].kind == WORD && !named) name = i;
    }
    if (name == to) fail(from, "a __shared__ declaration without a name");
    return name;
}

static size_t end_of_declarator(size_t from, size_t end) {
    int angles = 0;
    for (size_t i = from; i < end; i = next(i)) {
        if (opens(i)) i = matching(i);  // [1 << 5]: no angle brackets
        angles += is(i, "<") - is(i, ">");
        if (angles == 0 && is(i, ",")) return i;
    }
    return end;
}

static void add_dynamic(struct text* out, struct text* type, size_t name, size_t end,
                        bool file_scope) {
    size_t open = next(name);
    if (!is(open, "[") || !is(next(open), "]"))
        fail(name, "dynamic shared memory is declared as: extern __shared__ type name[];");
    if (file_scope) {
        add(out, "static const ::cudev::dynamic_array< ");
        add(out, type->data);
        add(out, "> ");
        add_tokens(out, name, name + 1);
        return;
    }
    note_dynamic(name);
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

// Is the word a number that only a run knows: a parameter, a variable, the size of a block?
static bool is_of_a_run(size_t word) {
    static const char numbers[] = "int unsigned long short size_t int32_t int64_t uint32_t";
    bool kernel;
    if (is_one_of(previous(word), ":: . -> sizeof") || is(previous(previous(word)), "sizeof"))
        return false;
    if (is_parameter_here(word) || is_one_of(word, "blockDim gridDim threadIdx blockIdx"))
        return true;
    for (size_t i = body_around(word, &kernel); i < word; i = next(i)) {
        if (!same_word(i, word) || !is_one_of(previous(i), numbers) || !is_one_of(next(i), "= ;"))
            continue;
        bool constant = false;
        for (size_t k = previous(i); !is_one_of(k, "; { } (") && previous(k) != k; k = previous(k))
            constant |= is_one_of(k, "const constexpr");
        return !constant;
    }
    return false;
}

static void check_size(size_t name, size_t end) {
    for (size_t i = next(name); i < end; i = next(i))
        if (tokens[i].kind == WORD && is_of_a_run(i))
            fail(i,
                 "the size of a __shared__ array is a constant, and %.*s is none; if only the "
                 "launch knows it: extern __shared__ type name[];",
                 (int)tokens[i].length, tokens[i].text);
}

static void add_static(struct text* out, struct text* type, size_t first, size_t name, size_t end,
                       const char* align) {
    // a variable keeps the words of its type: in a template the compiler looks up members by them
    bool plain = first == name && next(name) == end && !strchr(type->data, '{');
    add(out, plain ? type->data : "auto");
    add(out, "& ");
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

// Does token i, in a declaration of shared memory, begin the next statement: was the ; forgotten?
static bool begins_next(size_t i) {
    static const char statements[] = "__shared__ for if while do return";
    if (tokens[i].kind != WORD || !begins_line(i)) return false;
    if (is_one_of(i, "__align__ alignas __attribute__")) return false;
    return is(previous(i), "]") || is_one_of(i, statements) ||
           (tokens[previous(i)].kind == WORD && is(next(i), "("));
}

// At file scope, where the file is not graded: an object that stands for the running block's array.
static void add_in_file(struct text* out, struct text* type, size_t first, size_t name, size_t end,
                        const char* align) {
    add(out, "typedef ");
    add(out, type->data);
    add_kept(out, first, name);
    add(out, "cudev_type_");
    add_bytes(out, tokens[name].text, tokens[name].length);
    add(out, " ");
    add_kept(out, name + 1, end);
    add(out, "; CUDEV_SHARED_IN_FILE(");
    add_bytes(out, tokens[name].text, tokens[name].length);
    add(out, ", cudev_type_");
    add_bytes(out, tokens[name].text, tokens[name].length);
    add(out, ", ");
    add(out, align);
    add(out, ")");
}

size_t rewrite_shared(size_t shared, bool file_scope) {
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
        if (end != shared && begins_next(end))
            fail(previous(end), "the __shared__ declaration does not end with ;");
        if (opens(end)) end = matching(end);
        if (tokens[end].kind == END || closes(next(end)))
            fail(shared, "the __shared__ declaration does not end with ;");
        end = next(end);
    }
    if (file_scope && !dynamic && !any_source)
        fail(shared, "declare __shared__ variables inside the kernel that uses them");

    struct text align = {0}, type = {0}, out = {0};
    take_out(from, end, &align);
    size_t name = declared_name(from, end_of_declarator(from, end)), star = name;
    for (size_t k = previous(star); k >= from && is(k, "*"); k = previous(star)) star = k;
    add_kept(&type, from, star);
    if (!type.length) fail(shared, "a __shared__ declaration without a type");
    for (size_t first = star;;) {
        size_t stop = end_of_declarator(first, end);
        name = declared_name(first, stop);
        if (dynamic)
            add_dynamic(&out, &type, name, stop, file_scope);
        else if (file_scope)
            add_in_file(&out, &type, first, name, stop, align.data);
        else
            check_size(name, stop), add_static(&out, &type, first, name, stop, align.data);
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
