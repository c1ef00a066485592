// layout.c: whose each entry is: the layouts in which submissions come back. See class.h.
//
// Folders and files of one's own making: ada/..., bob.zip, carl_17_gqa.cu; and what platforms give:
//
//   Moodle      NAME_NUMBER_assignsubmission_file_/PATH, or without folders
//               NAME_NUMBER_assignsubmission_file_FILE (mod/assign/classes/downloader.php); before
//               4.x the folder's name has no path behind it
//   Canvas      nameoflastfirst[_LATE]_USER_ATTACHMENT_FILE, or [LATE_]anon_ID_ATTACHMENT_FILE
//               (lib/content_zipper.rb); a file that was handed in again is called FILE-1
//   Gradescope  assignment_NUMBER_export/submission_NUMBER/..., with submission_metadata.yml
//   Classroom   SLUG-submissions/SLUG-USER/... (gh classroom clone student-repos)
//
// Only the instructor's own folder, and downloads in it, are read so: what lies inside of one
// student's folder or archive is this student's, whatever its name.
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "class/class.h"

enum { MOST_PLACES = 64 };

// A folder or archive whose entries are students' hand-ins. path ends with '/', or is "".
struct place {
    char path[1024];
    bool archive;    // or in one
    char slug[256];  // of an assignment of GitHub Classroom; "" for others
    int index;
    struct submitters* submitters;
    int count;  // of them
};

// The first name of a path.
static size_t first_size(const char* path) {
    return strcspn(path, "/");
}

static bool is_stray(const char* name) {
    static const char* const stray[] = {"readme",   "license",  "thumbs.db", "desktop.ini",
                                        "__macosx", "makefile", NULL};
    bool is = name[0] == '.' || name[0] == '~';
    for (int i = 0; stray[i]; i++) {
        size_t n = strlen(stray[i]);
        is |= !strncasecmp(name, stray[i], n) && (!name[n] || strchr("./ _-", name[n]));
    }
    return is;
}

// ---- names that platforms give

static size_t digits(const char* text) {
    return strspn(text, "0123456789");
}

// What a platform's name says. `rest` is the path in the hand-in, NULL if there is none to grade.
struct said {
    struct owner owner;
    const char* rest;
    bool late, canvas;
    int64_t attachment;  // Canvas's number: the higher the later
};

static bool is_moodle(const char* path, struct said* s) {
    static const char mark[] = "_assignsubmission_";
    const char* at = strstr(path, mark);
    const char* slash = strchr(path, '/');
    if (!at || at == path || (slash && slash < at)) return false;
    const char* number = at;
    while (number > path && strchr("0123456789", number[-1])) number--;
    if (number == at || number - path < 2 || number[-1] != '_') return false;
    memset(s, 0, sizeof *s);
    int n = (int)(number - 1 - path);
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
        size_t n = at[5 + id] == '_' ? digits(attachment) : 0;
        if (id == 0 || n == 0 || attachment[n] != '_') return false;
        snprintf(s->owner.name, sizeof s->owner.name, "%.*s", (int)(5 + id), at);
        s->rest = attachment + n + 1;
        s->attachment = strtoll(attachment, NULL, 10);
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

static bool is_platforms(const char* path) {
    struct said s;
    return is_moodle(path, &s) || is_canvas(path, &s);
}

// ---- places

static bool is_in(const struct entry* e, const char* folder) {
    return !strncmp(e->path, folder, strlen(folder)) && e->path[strlen(folder)];
}

// Is what lies in this folder what a platform gives? *only becomes its one folder, if there is
// nothing else in it. Students' names are not asked.
static bool is_download(const struct class* class, const char* folder, char only[1024]) {
    int platforms = 0, others = 0, folders = 0;
    size_t n = strlen(folder);
    for (int i = 0; i < class->entries; i++) {
        const struct entry* e = &class->entry[i];
        if (!is_in(e, folder)) continue;
        const char* name = e->path + n;
        if (!strcmp(name, METADATA_FILE)) return true;
        if (is_stray(name)) continue;
        if (is_platforms(name)) {
            platforms++;
            continue;
        }
        size_t m = first_size(name);
        bool known = folders > 0 && !strncmp(only + n, name, m) && only[n + m] == '/';
        if (!known && name[m] != '/' && e->kind != ENTRY_FOLDER) others++;
        if (known || (name[m] != '/' && e->kind != ENTRY_FOLDER)) continue;
        folders++;
        snprintf(only, 1024, "%s%.*s/", folder, (int)m, name);
    }
    if (folders != 1 || others || platforms) only[0] = '\0';
    return platforms > 0 && others + folders == 0;
}

// SLUG, if the folder is SLUG-submissions and all in it begins with SLUG-.
static bool has_slug(const struct class* class, const char* folder, const char* name, size_t size,
                     char slug[256]) {
    static const char mark[] = "-submissions";
    size_t n = sizeof mark - 1;
    int count = 0;
    if (size <= n || size - n >= 255 || strncmp(name + size - n, mark, n) != 0) return false;
    snprintf(slug, 256, "%.*s-", (int)(size - n), name);
    for (int i = 0; i < class->entries; i++) {
        const struct entry* e = &class->entry[i];
        if (!is_in(e, folder) || is_stray(e->path + strlen(folder))) continue;
        if (strncasecmp(e->path + strlen(folder), slug, strlen(slug)) != 0) return false;
        count++;
    }
    return count > 0;
}

static void read_metadata(struct class* class, struct place* p) {
    char path[1100];
    snprintf(path, sizeof path, "%.1023s%s", p->path, METADATA_FILE);
    for (int i = 0; i < class->entries; i++) {
        const struct entry* e = &class->entry[i];
        if (strcmp(e->path, path) != 0 || !e->data) continue;
        p->submitters = metadata_read(e->data, e->size, &p->count);
        if (!p->submitters) text_say(stderr, "%s is no YAML that can be read", path);
    }
}

// Is this folder, or the one folder in it, a download? Then *p is that place.
static bool find_place(const struct class* class, const char* folder, struct place* p) {
    char only[1024] = "", deeper[1024] = "";
    size_t n = strlen(folder);
    memset(p, 0, sizeof *p);
    snprintf(p->path, sizeof p->path, "%s", folder);
    if (is_download(class, folder, only)) return true;
    const char* name = folder;
    for (const char* c = folder; c[0] && c[1]; c++)
        if (*c == '/') name = c + 1;
    if (n > 0 && has_slug(class, folder, name, strlen(name) - 1, p->slug)) return true;
    p->slug[0] = '\0';
    if (!only[0]) return false;
    snprintf(p->path, sizeof p->path, "%s", only);
    if (is_download(class, only, deeper)) return true;
    return has_slug(class, only, only + n, strlen(only) - n - 1, p->slug);
}

// Is the folder an archive, or in one?
static bool is_archive(const struct class* class, const char* folder) {
    for (int i = 0; i < class->entries; i++) {
        const struct entry* e = &class->entry[i];
        size_t n = strlen(e->path);
        if (e->kind == ENTRY_ARCHIVE && !strncmp(folder, e->path, n) &&
            (n == 0 || folder[n] == '/'))
            return true;
    }
    return false;
}

// Is this the name that Gradescope gives to an export, or GitHub's clones have?
static bool has_platforms_name(const struct place* p, const char* folder) {
    static const char begin[] = "assignment_", end[] = "_export/";
    const char* number = folder + sizeof begin - 1;
    if (p->slug[0]) return true;
    return !strncmp(folder, begin, sizeof begin - 1) && digits(number) > 0 &&
           !strcmp(number + digits(number), end);
}

// The next folder or archive right in SUBMISSIONS, from entry *i on, as a path that ends with '/';
// false if there is none. *bare becomes true if there is a file beside them.
static bool next_folder(const struct class* class, int* i, char folder[1024], bool* bare) {
    for (; *i < class->entries; ++*i) {
        const struct entry* e = &class->entry[*i];
        size_t n = first_size(e->path);
        if (n == 0 || n > 1000 || is_stray(e->path)) continue;
        bool seen = !strncmp(e->path, folder, n) && folder[n] == '/';
        bool holds = e->kind == ENTRY_FOLDER || e->kind == ENTRY_ARCHIVE || e->path[n] == '/';
        *bare |= !holds;
        if (seen || !holds) continue;
        snprintf(folder, 1024, "%.*s/", (int)n, e->path);
        return true;
    }
    return false;
}

// The places in SUBMISSIONS: itself, or the downloads in it if there is nothing else. Beside other
// hand-ins a folder is a download only if it has the name of one: a student might make one up.
static int find_places(struct class* class, struct place place[MOST_PLACES]) {
    char only[1024] = "", folder[1024] = "", whole[PATH_MAX];
    const char* own = realpath(class->submissions, whole) ? base_name(whole) : "";
    bool bare = false, all = true;
    int count = 0, named = 0;
    memset(&place[0], 0, sizeof place[0]);
    if (class->plain) return 1;
    if (is_download(class, "", only) || has_slug(class, "", own, strlen(own), place[0].slug))
        return 1;
    for (int i = 0; count < MOST_PLACES - 1 && next_folder(class, &i, folder, &bare);) {
        if (find_place(class, folder, &place[count]))
            count++;
        else
            all = false;
    }
    if (count > 0 && all && !bare) return count;
    for (int p = 0; p < count; p++) {
        if (is_archive(class, place[p].path) || !has_platforms_name(&place[p], place[p].path))
            text_say(
                stderr,
                "%s looks like a download, but there are other hand-ins beside it: it is taken "
                "for one student's. Give it as SUBMISSIONS= if it is a download.",
                place[p].path);
        else
            place[named++] = place[p];
    }
    memset(&place[named], 0, sizeof place[named]);
    // An archive with all submissions in one folder.
    if (class->entry[0].kind == ENTRY_ARCHIVE && !class->entry[0].path[0] && only[0])
        snprintf(place[named].path, sizeof place[named].path, "%s", only);
    return named + 1;
}

// ---- hand-ins

// The hand-in of this row in this place, called so; a new one if there is none.
static int handin_of(struct class* class, int row, const struct place* p, const char* name,
                     size_t size) {
    int place = p->index;
    for (int i = class->handins; i-- > 0;) {
        const struct handin* h = &class->handin[i];
        if (h->row == row && h->place == place && !strncmp(h->name, name, size) && !h->name[size])
            return i;
    }
    struct handin* grown =
        realloc(class->handin, (size_t)(class->handins + 1) * sizeof *class->handin);
    if (!grown) class_refuse("no memory for what was handed in");
    class->handin = grown;
    class->handin[class->handins] =
        (struct handin){.row = row, .place = place, .of = -1, .inner = p->archive, .first = -1};
    struct handin* h = &class->handin[class->handins];
    snprintf(h->name, sizeof h->name, "%.*s", (int)size, name);
    return class->handins++;
}

static void give(struct class* class, struct entry* e, int handin, const char* inside, int lesson) {
    struct handin* h = &class->handin[handin];
    int64_t time = h->inner ? e->inner_time : e->time;
    e->handin = handin;
    e->inside = inside;
    e->lesson = lesson;
    if (e->kind != ENTRY_FOLDER && !h->fixed && time > h->time) h->time = time;
}

// The time of the hand-in is this one, if one is known.
static void set_time(struct class* class, int handin, int64_t time) {
    if (!time) return;
    class->handin[handin].time = time;
    class->handin[handin].fixed = true;
}

static int index_of(const struct class* class, const struct row* row) {
    return (int)(row - class->row);
}

// One of a Gradescope export: everybody of a group has handed in the same.
static void give_submitted(struct class* class, const struct place* p, struct entry* e) {
    const char* path = e->path + strlen(p->path);
    size_t n = first_size(path);
    for (int i = 0; i < p->count; i++) {
        const struct submitters* s = &p->submitters[i];
        if (strncmp(s->folder, path, n) != 0 || s->folder[n]) continue;
        int first = -1;
        for (int k = 0; k < s->count; k++) {
            int row = index_of(class, row_of_owner(class, &s->owner[k], p->index));
            int h = handin_of(class, row, p, path, n);
            class->handin[h].of = first;
            class->handin[h].time = s->time;
            class->handin[h].fixed = s->time != 0;
            if (first < 0) give(class, e, first = h, path + n + (path[n] == '/'), -1);
        }
        return;
    }
}

// The name's first n bytes may end in one of _ - . and the lesson's name, with or without its
// number. Returns how many bytes stand before that; 0 if they do not end so.
static size_t before_lesson(const char* name, size_t n, const char* lesson) {
    const char* const names[] = {lesson, strchr(lesson, '_') + 1};
    for (int i = 0; i < 2; i++) {
        size_t m = strlen(names[i]) + 1;
        if (n > m && !strncasecmp(name + n - m + 1, names[i], m - 1) && strchr("_-. ", name[n - m]))
            return n - m;
    }
    return 0;
}

// The lesson of a file in a flat folder: ada_17_gqa.cu, ada-gqa.cu or, if the run has one lesson,
// ada.cu. -1 if it has no lesson; -2 if the run does not have its lesson. *size becomes the length
// of the student's name in it.
static int flat_lesson(const struct class* class, const char* name, size_t* size) {
    for (int l = 0; l < class->lessons; l++) {
        size_t n = without_file_ending(name, strlen(name), class->lesson[l].file),
               m = without_copy(name, n, false);
        if (name[n] && (*size = before_lesson(name, m, class->lesson[l].name)) > 0) return l;
    }
    *size = strlen(name);
    for (int i = 0; i < class->known_lessons; i++)
        if (before_lesson(name, strcspn(name, "."), class->known_lesson[i]) > 0) return -2;
    if (class->lessons > 1) return -1;
    size_t n = without_file_ending(name, strlen(name), class->lesson[0].file);
    if (!name[n] || file_fits(name, class->lesson[0].file, true) != FIT_NOT) return -1;
    *size = n;
    return 0;
}

static void give_named(struct class* class, const struct place* p, struct entry* e) {
    const char* path = e->path + strlen(p->path);
    size_t n = first_size(path), size = n;
    int lesson = -1;
    struct owner owner = {.name = ""};
    char name[1024];
    snprintf(name, sizeof name, "%.*s", (int)(n < 1000 ? n : 1000), path);
    bool holds = e->kind == ENTRY_FOLDER || e->kind == ENTRY_ARCHIVE || path[n] == '/';
    bool packed;
    const size_t bare = without_archive(name, &packed);
    if (!holds && !packed) {
        lesson = flat_lesson(class, name, &size);
        if (lesson == -2)
            snprintf(e->why, sizeof e->why, "of a lesson that this run does not grade");
        // ada_my_kernel.cu, ada-gqa-final.cu, ada_report.pdf: of Ada of the roster, whatever it is;
        // but Jean-Luc is not Jean.
        size_t stem = lesson >= 0
                          ? without_file_ending(name, strlen(name), class->lesson[lesson].file)
                          : strlen(name) - strlen(file_ending(name)),
               own = 0;
        const struct row* row = row_before(class, name, &own);
        bool of_row = row && own < stem && (lesson == -1 || (lesson >= 0 && size == stem));
        if (of_row && lesson >= 0 && name[own] != '_')
            of_row = strcasestr(name + own, strchr(class->lesson[lesson].name, '_') + 1) != NULL;
        if (of_row) {
            give(class, e, handin_of(class, index_of(class, row), p, name, strlen(name)), path, -1);
            return;
        }
        if (lesson < 0) return;
    } else {
        size = e->kind == ENTRY_FOLDER && !path[n] ? n : bare;
        for (int l = 0; l < class->lessons && packed && size == bare; l++)
            size = without_file_ending(name, bare, class->lesson[l].file);
        for (int l = 0; l < class->lessons; l++) {
            size_t m = before_lesson(name, size, class->lesson[l].name);
            if (m > 0) size = m;
        }
    }
    // "ada (1)" is a second copy of what Ada handed in, but if somebody is called so.
    char id[ID_SIZE];
    name_to_id(name, size, id);
    const struct row* called = class_row_of_id(class, id);
    if (!called || !called->on_roster) size = without_copy(name, size, false);
    size_t skip = strlen(p->slug);
    if (skip && (strncasecmp(name, p->slug, skip) != 0 || size <= skip)) return;
    snprintf(owner.name, sizeof owner.name, "%.*s", (int)(size - skip < 390 ? size - skip : 390),
             name + skip);
    if (class->roster_kind == ROSTER_CLASSROOM && !skip) {  // SLUG-USER, the slug unknown
        for (int i = 0; i < class->rows; i++)
            for (int k = 0; k < KEYS; k++) {
                size_t m = strlen(class->row[i].key[k]);
                if (m > strlen(owner.key) && m < size && name[size - m - 1] == '-' &&
                    !strncasecmp(name + size - m, class->row[i].key[k], m))
                    snprintf(owner.key, sizeof owner.key, "%s", class->row[i].key[k]);
            }
    }
    int row = index_of(class, row_of_owner(class, &owner, p->index));
    int h = handin_of(class, row, p, name, strlen(name));
    set_time(class, h, roster_time(class, &class->row[row], owner.key[0] ? owner.key : owner.name));
    give(class, e, h, holds ? path + n + (path[n] == '/') : path, lesson);
}

// Is the folder a place, or has it one?
static bool holds_place(const struct place* place, int places, const char* folder) {
    size_t n = strlen(folder);
    for (int p = 0; p < places; p++)
        if (!strncmp(place[p].path, folder, n) && place[p].path[n] == '/') return true;
    return false;
}

void layout(struct class* class) {
    static struct place place[MOST_PLACES];
    int places = find_places(class, place);
    for (int p = 0; p < places; p++) {
        place[p].index = p;
        place[p].archive = is_archive(class, place[p].path);
        read_metadata(class, &place[p]);
    }
    for (int i = 0; i < class->entries; i++) {
        struct entry* e = &class->entry[i];
        struct said s;
        e->handin = -1;
        e->inside = e->path;
        int p = 0;
        while (p < places && !is_in(e, place[p].path)) p++;
        if (p == places || holds_place(place, places, e->path)) continue;
        if (!strcmp(base_name(e->path), METADATA_FILE)) continue;
        const char* path = e->path + strlen(place[p].path);
        if (place[p].submitters) {
            give_submitted(class, &place[p], e);
        } else if (!class->plain && (is_moodle(path, &s) || is_canvas(path, &s))) {
            if (s.canvas && class->roster_kind != ROSTER_CANVAS)
                snprintf(s.owner.number, sizeof s.owner.number, "%s", s.owner.key);
            if (class->roster_kind != ROSTER_CANVAS) s.owner.key[0] = '\0';
            int row = index_of(class, row_of_owner(class, &s.owner, p));
            char name[ID_SIZE + 8];
            snprintf(name, sizeof name, "%s%s", s.owner.name, s.late ? " LATE" : "");
            int h = handin_of(class, row, &place[p], name, strlen(name));
            if (s.canvas) e->time = s.attachment;
            class->handin[h].canvas = s.canvas;
            class->handin[h].fixed = s.canvas;  // its files have the time of the download
            class->handin[h].late |= s.late;
            set_time(class, h, roster_time(class, &class->row[row], s.owner.number));
            give(class, e, h, s.rest ? s.rest : "", -1);
            if (!s.rest) snprintf(e->why, sizeof e->why, "a text or a link, no file");
        } else if (!is_stray(path)) {
            give_named(class, &place[p], e);
        }
    }
    for (int p = 0; p < places; p++) free(place[p].submitters);
    for (int i = class->entries; i-- > 0;) {
        struct entry* e = &class->entry[i];
        if (e->handin < 0) continue;
        e->next = class->handin[e->handin].first;
        class->handin[e->handin].first = i;
    }
}
