// A vector that a helper or a lambda takes as `const float4& v`, and of which it uses every member.
// nvcc makes one load of it where the helper becomes part of its caller; gcc loads member by
// member. So the helper gets a copy in front, which is loaded as a whole.
#include "cpu/rewrite/rewrite.h"

#include <string.h>

// How many members CUDA's vector of this name has; 0 if it is none, or no load as a whole.
static int members_of_vector(size_t name) {
    static const char twos_and_fours[] = "float2 float4 int2 int4 uint2 uint4 short4 ushort4 char4 "
                                         "uchar4 double2 longlong2 ulonglong2";
    return is_one_of(name, twos_and_fours) ? tokens[name].text[tokens[name].length - 1] - '0' : 0;
}

// Does the body [open, close) use `word` only by its members, and each of them?
static bool uses_all_members(size_t open, size_t close, size_t word, int members) {
    unsigned used = 0;
    for (size_t i = next(open); i < close; i = next(i)) {
        if (!same_word(i, word) || is_one_of(previous(i), ". ->")) continue;  // w.w
        const size_t dot = next(i), member = next(dot);
        if (!is(dot, ".")) return false;
        if (!is_one_of(member, "x y z w")) return false;
        used |= 1u << ((tokens[member].text[0] - 'x' + 4) % 4);
    }
    return used == (members == 4 ? 15u : 3u);
}

// Could the body see a change of the vector: by waiting for others, or by a pointer or reference to
// vectors of this type that it may write to?
static bool may_change(size_t first, size_t close, size_t type) {
    for (size_t i = first; i < close; i = next(i)) {
        if (tokens[i].kind != WORD) continue;
        for (size_t k = 0; k + 4 <= tokens[i].length; k++)
            if (strncmp(tokens[i].text + k, "sync", 4) == 0 ||
                strncmp(tokens[i].text + k, "wait", 4) == 0)
                return true;
        if (same_word(i, type) && is_one_of(next(i), "* &") && !is(previous(i), "const"))
            return true;
    }
    return false;
}

void rewrite_reference(size_t ampersand) {
    const size_t type = previous(ampersand), constant = previous(type), word = next(ampersand);
    const int members = members_of_vector(type);
    if (members == 0 || !is(constant, "const") || tokens[word].kind != WORD) return;
    if (!is_one_of(previous(constant), "( ,") || !is_one_of(next(word), ", )")) return;
    size_t close = word;
    while (!is(close, ")")) {
        if (is_one_of(close, "; { }") || next(close) == close) return;
        close = opens(close) ? next(matching(close)) : next(close);
    }
    size_t open = next(close);
    while (is_one_of(open, "const mutable noexcept")) open = next(open);
    if (!is(open, "{") || tokens[open].replacement || tokens[word].replacement) return;
    const size_t end = matching(open), first = matching_back(close);
    if (may_change(first, end, type) || !uses_all_members(open, end, word, members)) return;
    const int length = (int)tokens[word].length;
    replace(open, "{ const %.*s %.*s = %.*s_by_reference;", (int)tokens[type].length,
            tokens[type].text, length, tokens[word].text, length, tokens[word].text);
    replace(word, "%.*s_by_reference", length, tokens[word].text);
}
