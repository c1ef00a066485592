// Writing the tokens out as a text that can be read in one way only.
//
// Comments, continued lines and raw strings are gone from it, so a line of it is a directive for
// the preprocessor if and only if it begins with #. The compiler sees just
// what the rewriter saw: no directive hides in a false comment, and none gives a line another name.
#include "cpu/rewrite/rewrite.h"
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct text out;
static int owed;        // line ends inside a comment or a continued line: due at the next real one
static bool directive;  // within a directive or a #define body

static void put(char c) {
    add_bytes(&out, &c, 1);
}

static void put_line_end(void) {
    for (; owed > 0; owed--) put('\n');
    put('\n');
    directive = false;
}

static bool at_line_start(void) {
    size_t i = out.length;
    while (i > 0 && (out.data[i - 1] == ' ' || out.data[i - 1] == '\t')) i--;
    return i == 0 || out.data[i - 1] == '\n';
}

// Copies the string or character constant at p inside a directive; if it does not end there, its
// quote alone becomes a blank. Returns how much was read.
static size_t put_quoted(const char* p, size_t n) {
    size_t i = 1;
    while (i < n && p[i] != p[0] && p[i] != '\n') i += p[i] == '\\' ? 2 : 1;
    if (i >= n || p[i] != p[0]) {
        put(' ');
        return 1;
    }
    add_bytes(&out, p, i + 1);
    return i + 1;
}

// White space, comments and directives.
static void put_space(const char* p, size_t n) {
    for (size_t i = 0; i < n;) {
        if (p[i] == '\\' && i + 1 < n && p[i + 1] == '\n') {
            owed++;
            i += 2;
        } else if (p[i] == '/' && i + 1 < n && p[i + 1] == '/') {
            for (; i < n && p[i] != '\n'; i++)
                if (p[i] == '\\' && i + 1 < n && p[i + 1] == '\n') owed++, i++;
        } else if (p[i] == '/' && i + 1 < n && p[i + 1] == '*') {
            put(' ');
            for (i += 2; i + 1 < n && !(p[i] == '*' && p[i + 1] == '/'); i++) owed += p[i] == '\n';
            i = i + 2 < n ? i + 2 : n;
        } else if (p[i] == '\n') {
            put_line_end();
            i++;
        } else if (directive && (p[i] == '"' || p[i] == '\'')) {
            i += put_quoted(p + i, n - i);
        } else {
            if (p[i] == '#' && at_line_start()) directive = true;
            put(p[i++]);
        }
    }
}

static void put_literal(const char* p, size_t n) {
    const char* quote = memchr(p, '"', n);
    if (quote && quote > p && quote[-1] == 'R' && *p != '\'') {
        add_bytes(&out, p, n);  // a raw string
        return;
    }
    for (size_t i = 0; i < n; i++) {
        if (p[i] == '\\' && i + 1 < n && p[i + 1] == '\n')
            owed++, i++;
        else
            put(p[i]);
    }
}

// ---- is the result what it is meant to be? ----

static const char directives[] =
    "include define undef if ifdef ifndef elif else endif error warning pragma";
static const char pragmas[] =
    "unroll nounroll once nv_diag_suppress nv_diag_default region endregion";

static bool is_word(char c) {
    return isalnum((unsigned char)c) || c == '_';
}

static size_t word_length(const char* p) {
    size_t n = 0;
    while (is_word(p[n])) n++;
    return n;
}

static void check_directive(int line, const char* p) {
    p += strspn(p, " \t");
    size_t n = word_length(p);
    if (n == 0 && *p == '\n') return;
    if (n == 0 || !is_listed(directives, p, n))
        fail_here(line, source_at(line, "#", 1),
                  "#%.*s: this directive has no place in a .cu; #include, #define, #if and "
                  "#pragma unroll do",
                  (int)strcspn(p, "\n"), p);
    if (n != 6 || memcmp(p, "pragma", 6) != 0) return;
    p += 6;
    p += strspn(p, " \t");
    n = word_length(p);
    if (!is_listed(pragmas, p, n))
        fail_here(line, source_at(line, "#", 1),
                  "#pragma %.*s: only #pragma unroll means something to both compilers",
                  (int)strcspn(p, "\n"), p);
}

// A character in the code that C does not know: often what a text processor or a web page made of
// one that it knows.
static _Noreturn void fail_character(int line, const char* p) {
    static const struct {
        const char *from, *to, *words;  // of UTF-8; the last one, too
    } known[] = {
        {"\xc2\xa0", "\xc2\xa0", "a no-break space, as web pages have them; write a space"},
        {"\xc2\xab", "\xc2\xab", "a quote of a text processor; write \""},
        {"\xc2\xb4", "\xc2\xb4", "an accent; write '"},
        {"\xc2\xbb", "\xc2\xbb", "a quote of a text processor; write \""},
        {"\xe2\x80\x80", "\xe2\x80\x8f", "a blank that C does not know; write a space"},
        {"\xe2\x80\x90", "\xe2\x80\x95", "a dash of a text processor; write -"},
        {"\xe2\x80\x98", "\xe2\x80\x9b", "a quote of a text processor; write '"},
        {"\xe2\x80\x9c", "\xe2\x80\x9f", "a quote of a text processor; write \""},
        {"\xe2\x88\x92", "\xe2\x88\x92", "a minus sign of a text processor; write -"},
        {"\xef\xbb\xbf", "\xef\xbb\xbf",
         "a byte order mark; it has a place in front of the file alone"},
    };
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        const size_t n = strlen(known[i].from);
        if (strncmp(p, known[i].from, n) >= 0 && strncmp(p, known[i].to, n) <= 0)
            fail_here(line, source_at(line, p, n), "%s", known[i].words);
    }
    size_t n = 1;
    while (((unsigned char)p[n] & 0xc0) == 0x80) n++;
    fail_here(line, source_at(line, p, n),
              "a character that C does not know; it may stand in comments and strings");
}

// One line: literals end where they begin, and nothing goes on in the next.
static void check_line(int line, const char* p, const char* end) {
    const char* q = p;
    while (q < end && (*q == ' ' || *q == '\t')) q++;
    if (q < end && *q == '#') check_directive(line, q + 1);
    if (end - q >= 2 && q[0] == '%' && q[1] == ':')
        fail_here(line, source_at(line, q, 2), "write # for %%:");
    for (q = p; q < end; q++) {
        if (*q == '"' || *q == '\'') {
            const char quote = *q;
            if (quote == '"' && q > p && q[-1] == 'R')
                fail_here(line, source_at(line, q - 1, 2), "raw strings are not supported");
            for (q++; q < end && *q != quote; q++) q += *q == '\\';
            if (q >= end)
                fail_here(line, source_at(line, &quote, 1), "missing terminating %c", quote);
        } else if (isdigit((unsigned char)*q)) {
            while (is_word(q[1]) || q[1] == '.' || (q[1] == '\'' && is_word(q[2])) ||
                   ((q[1] == '+' || q[1] == '-') && strchr("eEpP", *q)))
                q++;
        } else if (is_word(*q)) {
            while (is_word(q[1])) q++;
        } else if ((unsigned char)*q >= 0x80 || strchr("$@`", *q)) {
            fail_character(line, q);
        } else if (*q == '/' && q + 1 < end && (q[1] == '/' || q[1] == '*')) {
            fail_here(line, source_at(line, q, 2),
                      "cannot tell whether a comment begins here; put spaces around the /");
        } else if (*q == '\\') {
            fail_here(line, source_at(line, q, 1),
                      "a \\ that ends no line; is there a space behind it?");
        }
    }
}

static void check_out(void) {
    int line = 1;
    for (const char* p = out.data; *p; line++) {
        const char* end = p + strcspn(p, "\n");
        check_line(line, p, end);
        p = end + (*end == '\n');
    }
}

// A header that is not here becomes #error, so that #if around it still holds.
static void write_line(FILE* f, const char* p, size_t n, bool rewritten) {
    const char *q = p + strspn(p, " \t"), *what, *use;
    if (rewritten && *q == '#') {
        q++;
        q += strspn(q, " \t");
        if (!strncmp(q, "include", 7)) {
            q += 7;
            q += strspn(q, " \t<\"");
            if (absent_header(q, &what, &use)) {
                fprintf(f, "#error not on the CPU device: %s, use %s\n", what, use);
                return;
            }
        }
    }
    fwrite(p, 1, n, f);
    fputc('\n', f);
}

// Writes what is in `out`, behind a line that says whose it is.
static void write_lines(const char* name, bool rewritten) {
    FILE* f = fopen(name, "wb");
    bool failed = !f;
    if (f) {
        fprintf(f, "#line 1 \"%s\"\n", shown_name);
        for (const char* p = out.data; *p;) {
            size_t n = strcspn(p, "\n");
            write_line(f, p, n, rewritten);
            p += n + (p[n] == '\n');
        }
        failed = ferror(f);
        failed = fclose(f) != 0 || failed;
    }
    if (failed) {
        fprintf(stderr, "rewrite: cannot write %s: %s\n", name, strerror(errno));
        exit(EXIT_FAILURE);
    }
}

void write_out(const char* name, bool rewritten) {
    out.length = 0;
    owed = 0;
    directive = false;
    add_bytes(&out, "", 0);
    for (size_t i = 0; tokens[i].kind != END; i++) {
        if (rewritten && tokens[i].replacement)
            add(&out, tokens[i].replacement);
        else if (tokens[i].kind == SPACE)
            put_space(tokens[i].text, tokens[i].length);
        else if (tokens[i].kind == LITERAL)
            put_literal(tokens[i].text, tokens[i].length);
        else
            add_bytes(&out, tokens[i].text, tokens[i].length);
    }
    put_line_end();
    if (!any_source) check_out();
    write_lines(name, rewritten);
}

void write_for_words(const char* name, bool sizes) {
    out.length = 0;
    for (size_t i = 0; tokens[i].kind != END; i++) {
        const struct token* t = &tokens[i];
        const char* text = sizes && t->sized ? t->sized : t->hidden && !sizes ? "" : t->text;
        size_t n = text == t->text ? t->length : strlen(text);
        add_bytes(&out, text, n);
        for (; n < t->length; n++) put(' ');
    }
    write_lines(name, true);
}
