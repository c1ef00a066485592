// inspect_includes.c: what a graded file includes, and what it makes of the words that it shares
// with the headers. See inspect.h.
//
// A header's lines are not inspected, so they have to be the header's own: what a file includes is
// on a list, and each line that comes from a header is the line that the same #include lines give
// without the file's macros around them.
#include <ctype.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "wall/inspect.h"

static size_t word_length(const char* p) {
    size_t n = 0;
    while (inspect_is_word(p[n])) n++;
    return n;
}

// Does the word of n characters stand in a list of words between single spaces?
static bool is_listed(const char* words, const char* word, size_t n) {
    for (size_t m; *words; words += m + (words[m] == ' ')) {
        m = strcspn(words, " ");
        if (m == n && memcmp(words, word, n) == 0) return true;
    }
    return false;
}

// ---- what may be included

// Headers of C and C++ that a kernel and its launcher can need. They may include what they like.
static const char standard_headers[] =
    "assert.h complex.h ctype.h errno.h fenv.h float.h inttypes.h iso646.h limits.h locale.h "
    "malloc.h math.h memory.h stdalign.h stdarg.h stdbool.h stddef.h stdint.h stdio.h stdlib.h "
    "stdnoreturn.h string.h strings.h sys/time.h sys/types.h tgmath.h time.h uchar.h wchar.h "
    "cassert cctype cerrno cfenv cfloat cinttypes climits clocale cmath ccomplex complex cstdalign "
    "cstdarg cstdbool cstddef cstdint cstdio cstdlib cstring ctgmath ctime ciso646 cuchar cwchar "
    "algorithm any array atomic bit bitset charconv chrono compare concepts deque exception "
    "forward_list functional initializer_list iomanip ios iosfwd istream iterator limits list map "
    "memory memory_resource new numbers numeric optional ostream queue random ranges ratio set "
    "span sstream stack stdexcept streambuf string string_view system_error tuple type_traits "
    "typeindex typeinfo unistd.h unordered_map unordered_set utility valarray variant vector "
    "version";

// Reads the name of an #include line: between < and > or between quotes. Returns its length; 0: it
// is no such name.
static size_t read_name(const char* p, const char** name) {
    p += strspn(p, " \t");
    if (*p != '<' && *p != '"') return 0;
    const char close = *p == '<' ? '>' : '"';
    size_t n = 0;
    while (p[1 + n] && p[1 + n] != close && p[1 + n] != '\n') n++;
    *name = p + 1;
    return p[1 + n] == close ? n : 0;
}

// No path leads out of the folders of headers, or to a header by a name that is not on the list.
static bool is_plain_name(const char* name, size_t n) {
    if (*name == '/') return false;
    for (size_t i = 0; i < n; i++) {
        bool start = i == 0 || name[i - 1] == '/';
        if (name[i] == '\\' || (start && name[i] == '.' && i + 1 < n && name[i + 1] == '.'))
            return false;
    }
    return true;
}

// Removes every "./" of a path, in place.
static void simplify(char* path) {
    char* to = path;
    for (const char* p = path; *p; p++) {
        bool start = p == path || p[-1] == '/';
        if (start && p[0] == '.' && p[1] == '/')
            p++;
        else if (!(p[0] == '/' && to > path && to[-1] == '/'))
            *to++ = *p;
    }
    *to = '\0';
}

// The header at `path`, included as `name`: one of the course, of the CPU device's for CUDA, of a
// CUDA toolkit, or of the list.
static bool is_allowed_header(const char* path, const char* name, const char* toolkit) {
    static const char course[] = "include/", cuda[] = "include/cpu/";
    char real[PATH_MAX], simple[PATH_MAX];
    snprintf(real, sizeof real, "%s", path);
    snprintf(simple, sizeof simple, "%s", name);
    simplify(real), simplify(simple);
    const char* rest = real;
    if (!strncmp(real, cuda, sizeof cuda - 1))
        return !strchr(rest + sizeof cuda - 1, '/') && strcmp(rest + sizeof cuda - 1, "cudev.h");
    if (!strncmp(real, course, sizeof course - 1)) return !strchr(rest + sizeof course - 1, '/');
    size_t n = strlen(real), m = strlen(simple);
    if (toolkit && !strncmp(real, toolkit, strlen(toolkit))) return true;
    return !strncmp(real, "/usr/", 5) && n > m && !strcmp(real + n - m, simple) &&
           real[n - m - 1] == '/' && is_listed(standard_headers, simple, m);
}

// ---- the directives of the source, also those of branches that are not taken

// The directive at p, behind #, asks with __has_include() only for plain names.
static bool asks_plainly(const char* p) {
    static const char word[] = "__has_include";
    const size_t length = sizeof word - 1;
    bool condition = !strncmp(p, "if", 2) || !strncmp(p, "elif", 4);
    bool defines = !strncmp(p, "define", 6);
    const char *end = p + strcspn(p, "\n"), *name;
    for (; p < end && (p = memmem(p, (size_t)(end - p), word, length)); p += length) {
        const char* q = p + length;
        if (defines || inspect_is_word(*q)) return false;  // __has_include_next
        q += strspn(q, " \t");
        if (*q != '(') continue;
        size_t n = condition ? read_name(q + 1, &name) : 0;
        if (n == 0 || !is_plain_name(name, n)) return false;
    }
    return true;
}

// source/unit.cpp: the rewriter has seen to it that a line is a directive if and only if it begins
// with #. Its first line is a #line.
static bool read_directives(const char* source, const struct inspect_place* w) {
    int line = 0;
    for (const char* p = source; *p; line++) {
        const char *next = p + strcspn(p, "\n"), *name = p;
        p += strspn(p, " \t");
        if (*p == '#') {
            p += 1 + strspn(p + 1, " \t");
            bool include = !strncmp(p, "include", 7) && !inspect_is_word(p[7]);
            size_t n = include ? read_name(p + 7, &name) : 0;
            if (include && n == 0)
                return inspect_refuse(w, line,
                                      "#include names its header between <> or quotes, as it is");
            if (include && !is_plain_name(name, n))
                return inspect_refuse(
                    w, line,
                    "includes %.*s; a graded file includes headers by their names, "
                    "without .. or a folder of the machine",
                    (int)n, name);
            if (!asks_plainly(p))
                return inspect_refuse(w, line,
                                      "__has_include() asks for a header by its name, in #if");
        }
        p = next + (*next == '\n');
    }
    return true;
}

// Goes on in source/unit.cpp from line *at to line `number`, as #line counts.
static const char* source_line(const char* p, int* at, int number) {
    for (; *p && *at < number; ++*at) {
        p += strcspn(p, "\n");
        p += *p == '\n';
    }
    return p;
}

// ---- the words of the source

// out/source/unit.cu: what the file said before it was rewritten. The CPU device's own words come
// only from the rewriter.
static bool read_source_words(const char* source, const struct inspect_place* w) {
    int line = 0;
    for (const char* p = source; *p;) {
        size_t n = word_length(p);
        if (*p == '"' || *p == '\'') {
            const char quote = *p++;
            while (*p && *p != '\n' && *p != quote) p += *p == '\\' && p[1] ? 2 : 1;
            p += *p == quote;
            continue;
        }
        for (size_t i = 0; i + 5 <= n; i++)
            if (!strncasecmp(p + i, "cudev", 5) && (n != 9 || strncmp(p, "__CUDEV__", 9)))
                return inspect_refuse(
                    w, line, "%.*s belongs to the CPU device; a kernel uses CUDA's own names",
                    (int)n, p);
        // in a number, ' separates digits
        while (n && isdigit((unsigned char)*p) && p[n] == '\'' && inspect_is_word(p[n + 1]))
            n += 1 + word_length(p + n + 1);
        line += *p == '\n';
        p += n ? n : 1;
    }
    return true;
}

// ---- preprocessed texts, line by line

struct reader {
    const char* at;     // the next line
    const char* shown;  // the student's file, as the compiler names it
    char file[PATH_MAX];
    bool inside;  // the next line is the student's
    int next, number;
    // the line that was read
    const char* line;
    size_t length;
    bool marker, enters, returns;  // a marker: a file begins; the student's goes on
    bool own;                      // a line of the student's
};

static void read_marker(struct reader* r) {
    const char* name = (const char*)memchr(r->line, '"', r->length) + 1;
    r->next = (int)strtol(r->line + 2, NULL, 10);
    const char* close = memchr(name, '"', (size_t)(r->line + r->length - name));
    size_t n = close ? (size_t)(close - name) : 0;
    snprintf(r->file, sizeof r->file, "%.*s", (int)n, name);
    r->inside = strcmp(r->file, r->shown) == 0;
    r->enters = close && strncmp(close, "\" 1", 3) == 0;
    r->returns = r->inside && close && strncmp(close, "\" 2", 3) == 0;
}

// The next line that is not empty; false at the end.
static bool read_line(struct reader* r) {
    do {
        if (!*r->at) return false;
        r->line = r->at;
        r->length = strcspn(r->at, "\n");
        r->at += r->length + (r->at[r->length] == '\n');
        r->number = r->next++;
    } while (r->length == 0);
    r->own = r->inside;
    r->enters = r->returns = false;
    r->marker = r->length > 4 && r->line[0] == '#' && r->line[1] == ' ' &&
                isdigit((unsigned char)r->line[2]) &&
                memchr(r->line, '"', r->length) == r->line + 3 + strspn(r->line + 3, "0123456789 ");
    if (r->marker) read_marker(r);
    return true;
}

// ---- words that are not the file's to define

static const char words[] =
    "__global__ __device__ __host__ __shared__ __constant__ __managed__ __grid_constant__ "
    "__launch_bounds__ __forceinline__ __noinline__ __align__ threadIdx blockIdx blockDim gridDim "
    "warpSize __FILE__ __LINE__ __COUNTER__ __DATE__ __TIME__ __cplusplus __VA_ARGS__ __VA_OPT__ "
    "alignas alignof asm auto bool break case catch char class const const_cast constexpr continue "
    "decltype default delete do double dynamic_cast else enum explicit extern false float for "
    "friend goto if inline int long mutable namespace new noexcept nullptr operator private "
    "protected public reinterpret_cast return short signed sizeof static static_cast struct switch "
    "template this throw true try typedef typeid typename union unsigned using virtual void "
    "volatile while";

// The name behind #define or #undef; NULL if the line is neither.
static const char* defined_name(const struct reader* r) {
    size_t n = !strncmp(r->line, "#define ", 8) ? 8 : !strncmp(r->line, "#undef ", 7) ? 7 : 0;
    return n ? r->line + n : NULL;
}

// The reserved names that headers of the course and of the CPU device define, between spaces; the
// caller frees them. NULL if out of memory.
static char* names_of_headers(const char* text, const char* shown) {
    struct reader r = {.at = text, .shown = shown};
    char* names = NULL;
    size_t size = 0;
    FILE* list = open_memstream(&names, &size);
    while (list && read_line(&r)) {
        const char* name = r.marker || r.own ? NULL : defined_name(&r);
        if (name && *name == '_' && !strncmp(r.file, "include/", 8))
            fprintf(list, "%.*s ", (int)word_length(name), name);
    }
    if (!list || fclose(list) != 0) return NULL;
    return names;
}

static bool is_forbidden(const char* of_headers, const char* name) {
    size_t n = word_length(name);
    for (size_t i = 0; i + 5 <= n; i++)
        if (strncasecmp(name + i, "cudev", 5) == 0) return true;
    return !strncmp(name, "COURSE_", 7) || is_listed(words, name, n) ||
           is_listed(of_headers, name, n);
}

// The words on what to take instead of a header that is refused; "": nothing in particular.
static const char* instead_of(const char* name) {
    static const char* const known[][2] = {
        {"iostream", ": print with printf() of <stdio.h>"},
        {"fstream", ": there are no files, print with printf() of <stdio.h>"},
        {"sstream", ": print with printf() of <stdio.h>"},
        {"thread", ": the threads are the kernel's"},
        {"mutex", ": the threads are the kernel's"},
        {"omp.h", ": the threads are the kernel's"},
        {"pthread.h", ": the threads are the kernel's"},
    };
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
        if (strcmp(name, known[i][0]) == 0) return known[i][1];
    return "";
}

// Every file that a line of the student's enters, and every name that one defines.
static bool read_own_lines(const char* source, const char* text, const char* toolkit,
                           const struct inspect_place* w) {
    struct reader r = {.at = text, .shown = w->shown_name};
    char entered[PATH_MAX] = "", *of_headers = names_of_headers(text, w->shown_name);
    bool fine = of_headers || inspect_refuse(w, 1, "no memory to look at its macros");
    int at = 0;
    while (fine && read_line(&r)) {
        if (r.marker && r.own && r.enters) snprintf(entered, sizeof entered, "%s", r.file);
        if (r.marker && r.own && r.enters && !strncmp(r.file, "out/", 4))
            fine = inspect_refuse(w, r.number, "includes %s; a graded file stands alone", r.file);
        if (fine && r.returns) {
            source = source_line(source, &at, r.next - 1);
            const char *line = source + strspn(source, " \t#"), *name = "";
            size_t n = strncmp(line, "include", 7) ? 0 : read_name(line + 7, &name);
            char spelled[PATH_MAX];
            snprintf(spelled, sizeof spelled, "%.*s", (int)n, name);
            if (!is_allowed_header(entered, spelled, toolkit))
                fine =
                    inspect_refuse(w, r.next - 1,
                                   "includes %s%s; a graded file includes its contract, the "
                                   "course's headers, CUDA's, and those of C and C++ that a kernel "
                                   "needs",
                                   n ? spelled : entered, instead_of(spelled));
        }
        const char* name = !r.marker && r.own ? defined_name(&r) : NULL;
        if (fine && name && is_forbidden(of_headers, name))
            fine = inspect_refuse(w, r.number,
                                  "defines %.*s anew, a word of C, of CUDA or of the course",
                                  (int)word_length(name), name);
    }
    free(of_headers);
    return fine;
}

// ---- lines of headers

// The next line that comes from a header; false at the end.
static bool read_header_line(struct reader* r) {
    while (read_line(r))
        if (!r->marker && !r->own) return true;
    r->line = "", r->length = 0;
    return false;
}

static bool compare_headers(const char* text, const char* alone, const struct inspect_place* w) {
    struct reader a = {.at = text, .shown = w->shown_name};
    struct reader b = {.at = alone, .shown = w->shown_name};
    for (;;) {
        bool more = read_header_line(&a), more_alone = read_header_line(&b);
        if (!more && !more_alone) return true;
        if (more == more_alone && a.length == b.length && !memcmp(a.line, b.line, a.length))
            continue;
        char file[PATH_MAX];
        snprintf(file, sizeof file, "%s", more ? a.file : b.file);
        struct reader* r = more ? &a : &b;
        while (read_line(r) && !r->returns) {
        }
        return inspect_refuse(
            w, more && r->returns ? r->next - 1 : 1,
            "a macro of this file changes what %s says; put the #include above it", file);
    }
}

bool inspect_source(const char* source, const char* shown_name, char* message, size_t size) {
    const struct inspect_place w = {shown_name, message, size};
    return read_source_words(source, &w);
}

bool inspect_includes(const char* source, const struct inspect_texts* texts, const char* shown_name,
                      char* message, size_t size) {
    const struct inspect_place w = {shown_name, message, size};
    return read_directives(source, &w) && read_own_lines(source, texts->text, texts->toolkit, &w) &&
           compare_headers(texts->text, texts->alone, &w);
}
