// platform.c: the names that platforms give to what was handed in. See class.h.
//
//   Moodle      NAME_NUMBER_assignsubmission_file_/PATH, or without folders
//               NAME_NUMBER_assignsubmission_file_FILE (mod/assign/classes/downloader.php); before
//               4.x the folder's name has no path behind it. A team is called by its name and the
//               group's number; those who are in no group share a team that has none: "Default
//               group", in the site's language (get_student_prefix() there)
//   Canvas      nameoflastfirst[_LATE]_USER_ATTACHMENT_FILE, or [LATE_]anon_ID_ATTACHMENT_FILE
//               (lib/content_zipper.rb); a file that was handed in again is called FILE-1; what is
//               no file ends in _text.html or _link.html instead
#include <stdlib.h>
#include <string.h>

#include "class/class.h"

static size_t digits(const char* text) {
    return strspn(text, "0123456789");
}

static bool is_moodle(const char* path, struct said* s) {
    static const char mark[] = "_assignsubmission_";
    const char* at = strstr(path, mark);
    const char* slash = strchr(path, '/');
    if (!at || at == path || (slash && slash < at)) return false;
    const char* number = at;
    while (number > path && strchr("0123456789", number[-1])) number--;
    bool numbered = number < at && number - path >= 2 && number[-1] == '_';
    // Moodle leaves no _ in a name.
    if (!numbered && memchr(path, '_', (size_t)(at - path))) return false;
    memset(s, 0, sizeof *s);
    if (!numbered) number = at;
    int n = (int)(numbered ? number - 1 - path : at - path);
    s->owner.nameless = !strncmp(path, "Participant_", 12) && n == 11;
    if (s->owner.nameless)
        snprintf(s->owner.name, sizeof s->owner.name, "Participant %.*s", (int)(at - number),
                 number);
    else
        snprintf(s->owner.name, sizeof s->owner.name, "%.*s", n < ID_SIZE ? n : ID_SIZE - 1, path);
    snprintf(s->owner.number, sizeof s->owner.number, "%.*s", (int)(at - number), number);
    at += sizeof mark - 1;
    const char* rest = at + strcspn(at, "_/");
    bool file = !strncmp(at, "file", 4) && rest == at + 4;
    if (*rest == '_') rest++;
    if (*rest == '/') rest++;
    s->rest = file ? rest : NULL;
    return true;
}

static bool is_canvas(const char* path, struct said* s) {
    const char *slash = strchr(path, '/'), *late = NULL, *at = path;
    memset(s, 0, sizeof *s);
    if (!strncmp(at, "LATE_anon_", 10)) late = at, at += 5;
    if (!strncmp(at, "anon_", 5)) {  // anon_ID_ATTACHMENT_FILE
        size_t id = strcspn(at + 5, "_/");
        const char* attachment = at + 5 + id + 1;
        if (id == 0 || at[5 + id] != '_') return false;
        size_t n = digits(attachment);
        bool text = !strcmp(attachment, "text.html") || !strcmp(attachment, "link.html");
        if (!text && (n == 0 || attachment[n] != '_')) return false;
        snprintf(s->owner.name, sizeof s->owner.name, "%.*s", (int)(5 + id), at);
        s->rest = text ? NULL : attachment + n + 1;
        s->attachment = text ? 0 : strtoll(attachment, NULL, 10);
        s->late = late != NULL;
        s->canvas = true;
        return true;
    }
    for (at = strchr(path, '_'); at && (!slash || at < slash); at = strchr(at + 1, '_')) {
        const char* user = at + 1;
        late = strncmp(user, "LATE_", 5) ? NULL : user;
        if (late) user += 5;
        size_t n = digits(user), m = user[n] == '_' ? digits(user + n + 1) : 0;
        bool text = !strncmp(user + n, "_text.html", 10) || !strncmp(user + n, "_link.html", 10);
        if (at == path || n == 0 || n >= KEY_SIZE) continue;
        if (!text && (m == 0 || user[n + 1 + m] != '_' || !user[n + 2 + m])) continue;
        int size = (int)(at - path);
        snprintf(s->owner.name, sizeof s->owner.name, "%.*s", size < ID_SIZE ? size : ID_SIZE - 1,
                 path);
        snprintf(s->owner.key, sizeof s->owner.key, "%.*s", (int)n, user);
        s->rest = text ? NULL : user + n + 2 + m;
        s->attachment = text ? 0 : strtoll(user + n + 1, NULL, 10);
        s->late = late != NULL;
        s->canvas = true;
        return true;
    }
    return false;
}

bool platform_says(const char* path, struct said* s) {
    return is_moodle(path, s) || is_canvas(path, s);
}
