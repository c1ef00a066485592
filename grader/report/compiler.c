// compiler.c: reads the lines of g++ and nvcc. See compiler.h.
//
// This is the one place where a compiler's words are taken apart. There is no other way: nvcc
// writes nothing but these lines, and a saved result holds them as a student reads them.
#include "report/compiler.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

static const struct {
    const char *mark, *severity;
    bool fatal;
} kinds[] = {{": error: ", "error", false},     {": fatal error: ", "error", true},
             {": warning: ", "warning", false}, {": note: ", "note", false},
             {": error ", "error", false},  // nvcc: "error #20: words"
             {": warning ", "warning", false}};

// Takes a number and the character before it off the end of a file's name; 0 if there is none.
static int take_number(struct part* file, char before) {
    int n = file->length;
    while (n > 0 && isdigit((unsigned char)file->text[n - 1])) n--;
    if (n < 2 || n == file->length || file->text[n - 1] != before) return 0;
    const long number = strtol(file->text + n, NULL, 10);
    file->length = n - 1;
    return number < 1 || number > 1 << 30 ? 0 : (int)number;
}

// "x.cu:12:5" and "x.cu:12" of g++, "x.cu(12)" of nvcc.
static void read_place(struct compiler_message* m) {
    const int n = m->file.length;
    if (n > 0 && m->file.text[n - 1] == ')') {
        struct part inside = {m->file.text, n - 1};
        m->line = take_number(&inside, '(');
        if (m->line) m->file = inside;
        return;
    }
    const int last = take_number(&m->file, ':'), first = take_number(&m->file, ':');
    m->line = first ? first : last;
    m->column = first ? last : 0;
}

bool compiler_read(const char* text, struct compiler_message* m) {
    const size_t length = strcspn(text, "\n");
    *m = (struct compiler_message){.whole = {text, (int)length}};
    if (isspace((unsigned char)text[0])) return false;  // source, or the end of a message
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        const size_t n = strlen(kinds[i].mark);
        const char* at = memmem(text, length, kinds[i].mark, n);
        if (!at || (m->severity && at >= m->file.text + m->file.length)) continue;
        m->severity = kinds[i].severity;
        m->fatal = kinds[i].fatal;
        m->file = (struct part){text, (int)(at - text)};
        m->words = (struct part){at + n, (int)(text + length - at - (ptrdiff_t)n)};
    }
    if (!m->severity) return false;
    read_place(m);
    return true;
}

bool compiler_first_error(const char* text, struct compiler_message* m) {
    for (const char* line = text; *line; line += m->whole.length, line += *line == '\n')
        if (compiler_read(line, m) && strcmp(m->severity, "error") == 0) return true;
    return false;
}
