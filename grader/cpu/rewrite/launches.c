// Launches: kernel<<<grid, block, bytes, stream>>>(arguments), see include/cudev/launch.h.
#include "cpu/rewrite/rewrite.h"
#include <ctype.h>
#include <stdlib.h>

// The first token of the expression that ends at `last`: names, ::, template arguments, ( ), [ ].
static size_t expression_start(size_t last) {
    size_t i = last;
    for (;;) {
        if (is_one_of(i, "> >>> ) ]")) {
            bool parenthesis = is(i, ")");
            i = matching_back(i);
            size_t before = previous(i);
            if (before == i) return i;
            if (tokens[before].kind != WORD && !is(before, "]") && !is(before, ")")) {
                if (parenthesis) return i;
                fail(last, "cannot find the kernel in front of <<<");
            }
            i = before;
            continue;
        }
        if (tokens[i].kind != WORD) fail(last, "<<< must follow the name of a kernel");
        size_t before = previous(i);
        if (before == i || (!is(before, "::") && !is(before, ".") && !is(before, "->"))) return i;
        size_t owner = previous(before);
        if (owner == before || (tokens[owner].kind != WORD && !is(owner, ">"))) return before;
        i = owner;
    }
}

// `<< <` or `>> >` at i, as some formatters write launches: three signs, the first two together.
static bool is_apart(size_t i, const char* sign) {
    return is(i, sign) && is(i + 1, sign) && tokens[i + 2].kind == SPACE && is(i + 3, sign);
}

static void join(size_t i, const char* signs) {
    tokens[i].text = signs;
    tokens[i].length = 3;
    for (size_t k = i + 1; k <= i + 3; k += 2) {
        tokens[k].kind = SPACE;
        tokens[k].length = 0;
    }
}

void join_launches(void) {
    for (size_t i = 0; tokens[i].kind != END; i++) {
        if (is_apart(i, "<")) join(i, "<<<");
        if (!is(i, "<<<")) continue;
        int depth = 0;
        for (size_t k = next(i); tokens[k].kind != END && !is(k, ";"); k = next(k)) {
            depth += opens(k) - closes(k);
            if (depth < 0 || (depth == 0 && is(k, ">>>"))) break;
            if (depth > 0 || !is_apart(k, ">") || !is(next(k + 3), "(")) continue;
            join(k, ">>>");
            break;
        }
    }
}

// Is a variable of this name declared anywhere: kernel* f = ..., void (*f)(int), type f = ...,
// decltype(&kernel) f = ...?
static bool is_declared_as_variable(size_t name) {
    for (size_t i = 0; tokens[i].kind != END; i++) {
        if (!same_word(i, name)) continue;
        size_t before = previous(i);
        if (is(before, "*")) return true;
        bool begins = is(next(i), "=") || is(next(i), ";");
        bool has_type = is(before, ")") || (tokens[before].kind == WORD && !is(before, "return"));
        if (begins && has_type && before != i) return true;
    }
    return false;
}

// The arguments behind the ( that are a bare 0 or NULL: a kernel's pointer is made of them, but not
// of an int that has the value 0. Each becomes ::cudev::zero(). Returns whether there are any.
static bool rewrite_zeros(size_t open) {
    bool any = false;
    size_t close = matching(open);
    for (size_t i = next(open); i < close; i = next(i)) {
        if (opens(i)) i = matching(i);
        if (!is_one_of(i, "0 NULL") || !is_one_of(previous(i), "( ,") || !is_one_of(next(i), ") ,"))
            continue;
        replace(i, "::cudev::zero()");
        any = true;
    }
    return any;
}

void rewrite_launch(size_t open, bool in_define) {
    size_t last = previous(open);
    if (last == open) fail(open, "<<< must follow the name of a kernel");
    check_launched(last);
    size_t first = expression_start(last);
    size_t close = next(open), sizes = 1;
    for (int depth = 0; !(depth == 0 && is(close, ">>>")); close = next(close)) {
        depth += opens(close) - closes(close);
        sizes += depth == 0 && is(close, ",");
        if (tokens[close].kind == END || depth < 0 || (depth == 0 && is(close, ";")))
            fail(open, "<<< has no matching >>>");
    }
    if (next(open) == close) fail(open, "<<< >>> is empty; write <<<blocks, threads_per_block>>>");
    // one word in capitals may be a macro for both
    bool macro = next(next(open)) == close && tokens[next(open)].kind == WORD;
    for (size_t k = 0; macro && k < tokens[next(open)].length; k++)
        macro = !islower((unsigned char)tokens[next(open)].text[k]);
    if (sizes == 1 && !macro)
        fail(open, "a launch needs two sizes: kernel<<<blocks, threads_per_block>>>(...)");
    if (!is(next(close), "(")) fail(close, "the kernel's arguments (...) must follow >>>");
    struct text kernel = {0}, shown = {0};
    add_tokens(&kernel, first, last + 1);
    add_kernel_name(&shown, first, last);
    bool known = has_address(last) && !is_overloaded_kernel(last);
    const char* parameters = parameters_of(last);
    // A variable that holds a kernel is read here, by the host. Another name may be that of a
    // template whose arguments the call says: that is no value.
    bool value = !in_define && !known && !named_at(last) &&
                 (is_one_of(last, ") ]") || is_declared_as_variable(last));
    const bool zeros = !known && rewrite_zeros(next(close));
    const char* called = known ? ")>::at(" : value ? "), " : "(cudev_arguments...); }, ";
    for (size_t k = open; k <= close; k++) tokens[k].hidden = tokens[k].kind != SPACE;
    for (size_t k = first; k <= matching(next(close)); k++)
        if (tokens[k].kind != SPACE && (k < open || k > close)) tokens[k].sized = "";
    tokens[open].sized = "_L(";  // include/cudev/launch.h
    tokens[close].sized = ")";
    replace(open,
            "%s::cudev::site(CUDEV_TEXT(%s), %s%s%s, %s%s%s, __FILE__, __LINE__, "
            "::cudev::cluster%s, ",
            called, shown.data, *parameters ? "\"" : "nullptr", parameters, *parameters ? "\"" : "",
            known ? "(const void*)(" : "nullptr", known ? kernel.data : "", known ? ")" : "",
            cluster_of(last));
    replace(close, known || value ? "))" : ")}");
    if (zeros && !value)
        replace(first,
                "::cudev::deduced_of_zeros{[=](auto... cudev_arguments) -> "
                "decltype(%s(cudev_arguments...)) { %.*s",
                kernel.data, (int)tokens[first].length, tokens[first].text);
    else
        replace(first, "%s%.*s",
                known   ? "::cudev::known<("
                : value ? "::cudev::pointed_at(("
                        : "::cudev::deduced{[=](auto... cudev_arguments) { ",
                (int)tokens[first].length, tokens[first].text);
    free(kernel.data);
    free(shown.data);
}

void check_plain_call(size_t i) {
    static const char may_precede[] = "; { } ) else do ,";
    size_t after = next(i), before = previous(i);
    if (!is(after, "(") || !is_kernel(i) || before == i || !is_one_of(before, may_precede) ||
        is_overloaded_kernel(i))
        return;
    replace(i,
            "({ static_assert(false, \"a kernel is launched with <<<blocks, threads>>>: "
            "%.*s<<<...>>>(...)\"); %.*s; })",
            (int)tokens[i].length, tokens[i].text, (int)tokens[i].length, tokens[i].text);
}

// Behind the argument that begins at `first`: its comma, or the ) of the call.
static size_t argument_end(size_t first) {
    size_t i = first;
    int angles = 0;  // of kernel<a, b>
    for (int depth = 0; tokens[i].kind != END; i = next(i)) {
        if (depth == 0 && angles <= 0 && is_one_of(i, ", ) ;")) return i;
        depth += opens(i) - closes(i);
        if (angles > 0 || named_at(previous(i)))
            angles += is(i, "<") - is(i, ">") - 3 * is(i, ">>>");
    }
    return i;
}

// Puts before, ::cudev::named(...) and behind in the place of token `at`: what messages say of the
// kernel that is the argument beginning at `first`.
static void replace_by_named(size_t at, const char* before, size_t first, const char* behind) {
    size_t last = previous(argument_end(first));
    struct text shown = {0};
    add_kernel_name(&shown, first, last);
    const char* parameters = parameters_of(last);
    replace(at,
            "%s::cudev::named(CUDEV_TEXT(%s), %s%s%s, __FILE__, __LINE__, ::cudev::cluster%s)%s",
            before, shown.data, *parameters ? "\"" : "nullptr", parameters, *parameters ? "\"" : "",
            cluster_of(last), behind);
    free(shown.data);
}

// cudaLaunchKernelEx(&config, kernel, arguments...): with the kernel's name, for messages.
void rewrite_launch_ex(size_t i) {
    size_t open = next(i);
    if (!is(open, "(")) return;
    size_t comma = argument_end(next(open));
    if (is(comma, ",")) replace_by_named(i, "", next(comma), ".with");
}

// cudaLaunchKernel((const void*)kernel, ...), cudaLaunchKernelExC(&config, (const void*)kernel,
// ...): here the kernel's type says what the arguments are; and with its name, for messages.
void rewrite_launch_call(size_t i) {
    size_t open = next(i), first = next(open);
    if (!is(open, "(")) return;
    if (is(i, "cudaLaunchKernelExC")) {
        first = argument_end(first);
        if (is(first, ",")) first = next(first);
    }
    size_t cast = first, word = next(cast);
    if (is(cast, "(") && is(word, "const")) word = next(word);
    bool is_cast =
        is(cast, "(") && is(word, "void") && is(next(word), "*") && is(next(next(word)), ")");
    if (is_cast) first = next(next(next(word)));
    replace_by_named(open, "(", first, ", ");
    if (!is_cast) return;
    for (size_t k = cast; k < first; k++) tokens[k].hidden = tokens[k].kind != SPACE;
    delete_tokens(cast, next(next(word)) + 1);
}
