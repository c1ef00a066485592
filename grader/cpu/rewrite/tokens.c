// The tokens of a source file: cutting, looking around, replacing.
#include "cpu/rewrite/rewrite.h"
#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char* shown_name;
bool any_source;
struct token* tokens;
static size_t token_count;

static const char* source;  // as it was cut

// The line of the source that `at` stands in, and a mark below it, as the compiler shows them.
// Returns the column, with tabs of 8 and one column for each character.
static int show_line(FILE* to, int line, const char* at, size_t length) {
    const char* begin = at;
    int column = 0, marked = 0;
    while (begin > source && begin[-1] != '\n') begin--;
    if (to) fprintf(to, "%5d | ", line);
    for (const char* p = begin; *p && *p != '\n'; p++) {
        const int wide = *p == '\t' ? 8 - column % 8 : ((unsigned char)*p & 0xc0) != 0x80;
        if (p == at) marked = column + 1;
        column += wide;
        if (to && *p != '\t') fputc(*p, to);
        for (int k = 0; to && *p == '\t' && k < wide; k++) fputc(' ', to);
    }
    if (!marked) marked = column + 1;
    if (!to) return marked;
    fprintf(to, "\n      | %*s^", marked - 1, "");
    for (size_t k = 1; k < length && at[k] != '\n'; k++) fputc('~', to);
    fputc('\n', to);
    return marked;
}

static _Noreturn void end_with(int line, const char* at, size_t length, const char* format,
                               va_list args) {
    fprintf(stderr, "%s:%d:", shown_name, line);
    if (at) fprintf(stderr, "%d:", show_line(NULL, line, at, length));
    fputs(" error: ", stderr);
    vfprintf(stderr, format, args);
    fputc('\n', stderr);
    if (at) show_line(stderr, line, at, length);
    exit(EXIT_FAILURE);
}

void fail_here(int line, const char* at, const char* format, ...) {
    va_list args;
    va_start(args, format);
    end_with(line, at, 1, format, args);
}

void fail(size_t i, const char* format, ...) {
    const struct token* t = &tokens[i];
    va_list args;
    va_start(args, format);
    end_with(t->line, t->at, t->length, format, args);
}

const char* source_at(int line, const char* words, size_t n) {
    const char* p = source;
    for (int k = 1; k < line && p; k++) p = strchr(p, '\n') ? strchr(p, '\n') + 1 : NULL;
    return p ? memmem(p, strcspn(p, "\n"), words, n) : NULL;
}

void* checked(void* memory) {
    if (!memory) {
        fprintf(stderr, "rewrite: out of memory\n");
        exit(EXIT_FAILURE);
    }
    return memory;
}

void add_bytes(struct text* t, const char* bytes, size_t n) {
    if (t->length + n + 1 > t->capacity) {
        t->capacity = 2 * (t->length + n) + 64;
        t->data = checked(realloc(t->data, t->capacity));
    }
    memcpy(t->data + t->length, bytes, n);
    t->length += n;
    t->data[t->length] = '\0';
}

void add(struct text* t, const char* string) {
    add_bytes(t, string, strlen(string));
}

// ---- cutting into tokens ----

static size_t length_of_string(const char* p, int line) {
    size_t i = 1;
    while (p[i] != p[0]) {
        if (p[i] == '\0' || p[i] == '\n') fail_here(line, p, "missing terminating %c", p[0]);
        i += p[i] == '\\' && p[i + 1] ? 2 : 1;
    }
    return i + 1;
}

static size_t length_of_raw_string(const char* p, int line) {
    const char* open = strchr(p, '(');
    size_t delimiter = open ? (size_t)(open - p) - 2 : 0;  // p points at R"
    if (!open || delimiter > 16) fail_here(line, p, "malformed raw string");
    for (const char* q = open; (q = strchr(q, ')')); q++)
        if (strncmp(q + 1, p + 2, delimiter) == 0 && q[1 + delimiter] == '"')
            return (size_t)(q - p) + delimiter + 2;
    fail_here(line, p, "raw string does not end");
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

// Up to the end of "#define NAME" or "#define NAME(": code follows.
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
            if (!end) fail_here(line, p + i, "comment does not end");
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

void cut(const char* text) {
    source = text;
    size_t capacity = 0;
    int line = 1;
    bool start = true;
    for (const char* p = text;;) {
        if (token_count + 2 > capacity) {
            capacity = capacity ? 2 * capacity : 4096;
            tokens = checked(realloc(tokens, capacity * sizeof *tokens));
        }
        struct token t = {
            .text = p, .at = p, .length = length_of_space(p, line, start), .line = line};
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

bool is_listed(const char* words, const char* word, size_t length) {
    for (size_t n; *words; words += n + (words[n] == ' ')) {
        n = strcspn(words, " ");
        if (n == length && memcmp(words, word, n) == 0) return true;
    }
    return false;
}

bool is(size_t i, const char* text) {
    return tokens[i].kind != SPACE && tokens[i].kind != END && tokens[i].length == strlen(text) &&
           memcmp(tokens[i].text, text, tokens[i].length) == 0;
}

bool is_one_of(size_t i, const char* words) {
    return tokens[i].kind != SPACE && tokens[i].kind != END &&
           is_listed(words, tokens[i].text, tokens[i].length);
}

bool same_word(size_t a, size_t b) {
    return tokens[a].length == tokens[b].length &&
           memcmp(tokens[a].text, tokens[b].text, tokens[a].length) == 0;
}

size_t next(size_t i) {
    while (tokens[i].kind != END && tokens[++i].kind == SPACE) {
    }
    return i;
}

// Does white space hold a directive? *at_end: and is the end of it still the same line, the body of
// a #define?
static bool has_directive(size_t space, bool* at_end) {
    const char *p = tokens[space].text, *end = p + tokens[space].length;
    bool line_start = space == 0, found = false;
    *at_end = false;
    while (p < end) {
        if (p[0] == '\\' && p + 1 < end && p[1] == '\n') {
            p++;
        } else if (p[0] == '/' && p + 1 < end && p[1] == '/') {
            while (p + 1 < end && p[1] != '\n') p += *p == '\\' && p[1] == '\n' ? 2 : 1;
        } else if (p[0] == '/' && p + 1 < end && p[1] == '*') {
            for (p += 2; p + 1 < end && !(p[0] == '*' && p[1] == '/');) p++;
            p++;
        } else if (*p == '\n') {
            line_start = true;
            *at_end = false;
        } else if (*p == '#' && line_start) {
            found = *at_end = true;
            line_start = false;
        } else if (*p != ' ' && *p != '\t') {
            line_start = false;
        }
        p++;
    }
    return found;
}

bool in_define_after(size_t space, bool in_define) {
    const char *text = tokens[space].text, *end = text + tokens[space].length;
    bool at_end;
    for (const char* p = text; in_define && p < end; p++)
        if (*p == '\n' && (p == text || p[-1] != '\\')) in_define = false;
    return in_define || (has_directive(space, &at_end) && at_end && tokens[space + 1].kind != END);
}

// The token before i, or i itself at the beginning of the file or of a #define body.
size_t previous(size_t i) {
    for (size_t k = i; k-- > 0;) {
        if (tokens[k].kind != SPACE) return k;
        bool at_end;
        if (has_directive(k, &at_end)) return i;
    }
    return i;
}

bool opens(size_t i) {
    return is_one_of(i, "( [ {");
}

bool closes(size_t i) {
    return is_one_of(i, ") ] }");
}

// The bracket that closes the bracket at `open`.
size_t matching(size_t open) {
    int depth = 0;
    for (size_t i = open; tokens[i].kind != END; i = next(i)) {
        depth += opens(i) - closes(i);
        if (depth > 0) continue;
        // ( and ) differ by 1 in ASCII, the other pairs by 2
        if (tokens[i].text[0] - tokens[open].text[0] <= 2) return i;
        break;
    }
    fail(open, "'%.1s' is not closed", tokens[open].text);
}

// The bracket or angle bracket that matches the bracket at `close`, going backwards.
size_t matching_back(size_t close) {
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
    fail(close, "cannot find what '%.1s' closes", tokens[close].text);
}

// Tokens [from, to) as one line.
void add_tokens(struct text* t, size_t from, size_t to) {
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

void replace(size_t i, const char* format, ...) {
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

void delete_tokens(size_t from, size_t to) {
    for (size_t i = from; i < to; i++)
        if (tokens[i].kind != SPACE) replace(i, "%s", "");
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
