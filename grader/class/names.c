// names.c: strangers' names as UTF-8, as file names, and as keys to find the same person again;
// names of lessons. See class.h.
#include <sha2.h>
#include <stdlib.h>
#include <string.h>
#include <unicode/uchar.h>
#include <unicode/ucnv.h>
#include <unicode/unorm2.h>
#include <unicode/ustring.h>

#include "base/plain.h"
#include "class/class.h"

enum { LONGEST_ID = 150 };

// ---- UTF-8

bool text_is_utf8(const char* text, size_t size) {
    for (size_t i = 0; i < size;) {
        UChar32 c;
        U8_NEXT(text, i, size, c);
        if (c < 0) return false;
    }
    return true;
}

char* text_convert(const char* text, size_t size, const char* charset) {
    UErrorCode error = U_ZERO_ERROR;
    size_t room = 3 * size + 16;  // no byte of these charsets is more than three of UTF-8
    char* utf8 = malloc(room);
    if (!utf8) class_refuse("no memory for a text");
    int32_t n =
        ucnv_convert("UTF-8", charset, utf8, (int32_t)room - 1, text, (int32_t)size, &error);
    utf8[U_SUCCESS(error) && n > 0 ? n : 0] = '\0';
    return utf8;
}

// UTF-16 of the text, which the caller frees; *n is its length.
static UChar* text_u16(const char* text, size_t size, int32_t* n) {
    UErrorCode error = U_ZERO_ERROR;
    UChar* wide = malloc((size + 1) * sizeof *wide);
    if (!wide) class_refuse("no memory for a name");
    u_strFromUTF8WithSub(wide, (int32_t)size + 1, n, text, (int32_t)size, '?', NULL, &error);
    if (U_FAILURE(error)) *n = 0;
    return wide;
}

static char* text_u8(const UChar* wide, int32_t n) {
    UErrorCode error = U_ZERO_ERROR;
    int32_t size = 0, room = 3 * n + 1;
    char* utf8 = malloc((size_t)room);
    if (!utf8) class_refuse("no memory for a name");
    u_strToUTF8WithSub(utf8, room, &size, wide, n, '?', NULL, &error);
    utf8[U_SUCCESS(error) ? size : 0] = '\0';
    return utf8;
}

// The text in the normal form; the caller frees it.
static UChar* normalized(const UNormalizer2* form, const char* text, size_t size, int32_t* n) {
    UErrorCode error = U_ZERO_ERROR;
    int32_t from_size, room;
    UChar* from = text_u16(text, size, &from_size);
    room = 18 * from_size + 16;  // the most that NFKD makes of one unit
    UChar* to = malloc((size_t)room * sizeof *to);
    if (!to) class_refuse("no memory for a name");
    *n = unorm2_normalize(form, from, from_size, to, room, &error);
    if (U_FAILURE(error)) *n = 0;
    free(from);
    return to;
}

char* name_utf8(const char* name, size_t size, const char* charset) {
    UErrorCode error = U_ZERO_ERROR;
    char* utf8 = NULL;
    if (!text_is_utf8(name, size)) {
        name = utf8 = text_convert(name, size, charset);
        size = strlen(utf8);
    }
    int32_t n;
    UChar* wide = normalized(unorm2_getNFCInstance(&error), name, size, &n);
    char* whole = text_u8(wide, n);
    free(wide);
    free(utf8);
    return whole;
}

void name_copy(char to[ID_SIZE], const char* text) {
    char* utf8 = name_utf8(text, strlen(text), "windows-1252");
    size_t n = strlen(utf8);
    while (n > 0 && utf8[n - 1] == ' ') n--;
    snprintf(to, ID_SIZE, "%.*s", (int)n, utf8);
    free(utf8);
}

void name_fold(const char* name, char* key, size_t room) {
    UErrorCode error = U_ZERO_ERROR;
    int32_t n, letters = 0;
    UChar* wide = normalized(unorm2_getNFKDInstance(&error), name, strlen(name), &n);
    for (int32_t i = 0; i < n;) {
        int32_t start = i;
        UChar32 c;
        U16_NEXT(wide, i, n, c);
        if (!u_isalnum(c)) continue;  // marks on letters are none
        for (; start < i; start++) wide[letters++] = wide[start];
    }
    UChar* folded = malloc((size_t)(3 * letters + 1) * sizeof *folded);
    if (!folded) class_refuse("no memory for a name");
    error = U_ZERO_ERROR;
    n = u_strFoldCase(folded, 3 * letters + 1, wide, letters, U_FOLD_CASE_DEFAULT, &error);
    char* utf8 = text_u8(folded, U_SUCCESS(error) ? n : 0);
    snprintf(key, room, "%s", utf8);
    free(utf8);
    free(folded);
    free(wide);
}

static int by_text(const void* a, const void* b) {
    return strcmp(a, b);
}

void name_words(const char* name, char* words, size_t room) {
    enum { MOST = 12 };
    char word[MOST][FOLD_SIZE], one[FOLD_SIZE];
    int count = 0;
    words[0] = '\0';
    for (const char* p = name; *p;) {
        size_t n = strcspn(p, " ,;\t_");
        snprintf(one, sizeof one, "%.*s", (int)n, p);
        if (n > 0 && count < MOST) name_fold(one, word[count], FOLD_SIZE);
        if (n > 0 && count < MOST && word[count][0]) count++;
        p += n + (p[n] != '\0');
    }
    qsort(word, (size_t)count, FOLD_SIZE, by_text);
    for (int i = 0; i < count; i++) {
        size_t n = strlen(words);
        snprintf(words + n, room - n, "%s%s", n ? " " : "", word[i]);
    }
}

int text_columns(const char* text) {
    int columns = 0;
    for (int32_t i = 0, n = (int32_t)strlen(text); i < n;) {
        UChar32 c;
        U8_NEXT(text, i, n, c);
        int type = u_charType(c), wide = u_getIntPropertyValue(c, UCHAR_EAST_ASIAN_WIDTH);
        bool mark = type == U_NON_SPACING_MARK || type == U_ENCLOSING_MARK;
        columns += mark ? 0 : wide == U_EA_WIDE || wide == U_EA_FULLWIDTH ? 2 : 1;
    }
    return columns;
}

void print_wide(const char* text, int wide) {
    int columns = text_columns(text);
    printf("%s%*s", text, columns < wide ? wide - columns : 0, "");
}

// ---- file names

// " ~1234abcd" stands behind an id that does not say all of its name.
static bool ends_like_a_hash(const char* name, size_t size) {
    if (size < 10 || strncmp(name + size - 10, " ~", 2) != 0) return false;
    return strspn(name + size - 8, "0123456789abcdef") >= 8;
}

void name_to_id(const char* name, size_t size, char id[ID_SIZE]) {
    char text[4 * LONGEST_ID + 1];
    size_t n = 0, i = 0, end = size < sizeof text - 1 ? size : sizeof text - 1;
    memcpy(text, name, end);
    text[end] = '\0';
    bool whole = size > 0 && !ends_like_a_hash(text, end);
    while (i < end) {
        size_t m = plain_character(text + i);
        if (n + (m ? m : 1) > LONGEST_ID) break;
        bool kept = m > 0 && text[i] != '/' && !(i == 0 && text[i] == '.');
        if (kept) memcpy(id + n, text + i, m);
        if (!kept) id[n] = '_', whole = false;
        n += kept ? m : 1;
        i += m ? m : 1;
    }
    id[n] = '\0';
    if (whole && i == size) return;
    char hash[65];
    SHA256Data((const uint8_t*)name, size, hash);
    snprintf(id + n, ID_SIZE - n, " ~%.8s", hash);
}

// ---- lessons

bool class_names(const char* text, const char* lesson) {
    const char* name = strchr(lesson, '_');
    char* end;
    long n = strtol(text, &end, 10);
    return !strcmp(lesson, text) || (name && !strcmp(name + 1, text)) ||
           (end != text && !*end && n == strtol(lesson, NULL, 10));
}

const char* file_ending(const char* file) {
    const char* dot = strrchr(file, '.');
    return dot ? dot : "";
}

const char* base_name(const char* path) {
    const char* slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

bool has_ending(const char* name, const char* ending) {
    size_t n = strlen(name), m = strlen(ending);
    return n > m && strcasecmp(name + n - m, ending) == 0;
}

size_t without_ending(const char* name, const char* const* endings) {
    for (int i = 0; endings[i]; i++)
        if (has_ending(name, endings[i])) return strlen(name) - strlen(endings[i]);
    return strlen(name);
}

const char* const archive_endings[] = {".zip", ".tar.gz",  ".tgz",  ".tar.xz", ".txz",
                                       ".tar", ".tar.bz2", ".tbz2", NULL};
const char* const closed_endings[] = {".rar",    ".7z",       ".zipx",  ".tar.zst", ".tzst",
                                      ".tar.lz", ".tar.lzma", ".tar.Z", ".gz",      ".bz2",
                                      ".xz",     ".zst",      NULL};

size_t without_archive(const char* name, bool* is) {
    size_t n = without_ending(name, archive_endings);
    if (!name[n]) n = without_ending(name, closed_endings);
    *is = name[n] != '\0';
    return n;
}

size_t without_file_ending(const char* name, size_t n, const char* file) {
    char twice[32];
    snprintf(twice, sizeof twice, "%.20s.txt", file_ending(file));
    const char* const endings[] = {file_ending(file), twice};
    for (int i = 0; i < 2; i++) {
        const size_t m = strlen(endings[i]);
        if (n > m && !strncasecmp(name + n - m, endings[i], m)) return n - m;
    }
    return n;
}

enum like file_may_be(const char* path, const char* wanted) {
    char stem[64];
    const char* ending = file_ending(wanted);
    snprintf(stem, sizeof stem, "%.*s", (int)(strlen(wanted) - strlen(ending)), wanted);
    const char* name = base_name(path);
    bool text = has_ending(name, ".txt") && strcasestr(name, ending);
    if (!text && !has_ending(name, ending)) return LIKE_NOT;
    return name == path || strcasestr(name, stem) ? LIKE_NAME : LIKE_KIND;
}

size_t without_copy(const char* name, size_t n, bool numbered) {
    size_t m = n;
    if (n > 7 && !strncasecmp(name + n - 7, " - copy", 7)) return n - 7;
    if (m > 0 && name[m - 1] == ')') {
        for (m--; m > 0 && strchr("0123456789", name[m - 1]);) m--;
        // More digits are a student's number.
        if (m == 0 || name[m - 1] != '(' || m == n - 1 || n - 1 - m > 3) return n;
        for (m--; m > 0 && name[m - 1] == ' ';) m--;
        return m;
    }
    while (m > 0 && strchr("0123456789", name[m - 1])) m--;
    return numbered && m < n && m > 0 && name[m - 1] == '-' ? m - 1 : n;
}

enum fit file_fits(const char* name, const char* wanted, bool numbered) {
    const char *ending = file_ending(name), *wanted_ending = file_ending(wanted);
    size_t n = strlen(name) - strlen(ending), m = strlen(wanted) - strlen(wanted_ending);
    if (!strcmp(name, wanted)) return FIT_EXACT;
    // Windows hides an ending that it knows: x.cu.txt is shown as x.cu.
    if (!strcasecmp(ending, ".txt") && n == strlen(wanted) && !strncasecmp(name, wanted, n))
        return FIT_NEARLY;
    if (strcasecmp(ending, wanted_ending) != 0) return FIT_NOT;
    size_t short_n = without_copy(name, n, numbered);
    if (numbered && short_n < n && short_n == m && !strncmp(name, wanted, m)) return FIT_EXACT;
    return short_n == m && !strncasecmp(name, wanted, m) ? FIT_NEARLY : FIT_NOT;
}
