// layout.c: whose each entry is: the layouts in which submissions come back. See class.h.
//
// Folders and files of one's own making: ada/..., bob.zip, carl_17_gqa.cu; and what platforms give:
//
//   Moodle, Canvas   by the names of platform.c
//   Gradescope       assignment_NUMBER_export/submission_NUMBER/..., with submission_metadata.yml
//   Classroom        SLUG-submissions/SLUG-USER/... (gh classroom clone student-repos)
//
// Only the instructor's own folder, and downloads in it, are read so: what lies inside of one
// student's folder or archive is this student's, whatever its name. What the instructor got by mail
// lies beside downloads in a folder of its own, MAIL: it counts for those whose it is.
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "class/class.h"

static const char mail[] = "mail/";

// A folder or archive whose entries are students' hand-ins. path ends with '/', or is "".
struct place {
    char path[1024];
    bool archive;  // or in one
    bool mail;
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

static size_t digits(const char* text) {
    return strspn(text, "0123456789");
}

static bool is_platforms(const char* path) {
    struct said s;
    return platform_says(path, &s);
}

// ---- places

static bool is_in(const struct entry* e, const char* folder) {
    return !strncmp(e->path, folder, strlen(folder)) && e->path[strlen(folder)];
}

static bool is_mail(const char* path) {
    return !strncmp(path, mail, sizeof mail - 1) || !strcmp(path, "mail");
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
        if (is_stray(name) || is_mail(e->path)) continue;
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
        if (!is_in(e, folder) || is_stray(e->path + strlen(folder)) || is_mail(e->path)) continue;
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
        if (!p->submitters)
            todo_say("%s is no YAML that can be read: nothing says whose its submissions are",
                     path);
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
// false if there is none. *bare becomes true if there is a file beside them that may be a hand-in.
static bool next_folder(const struct class* class, int* i, char folder[1024], bool* bare) {
    for (; *i < class->entries; ++*i) {
        const struct entry* e = &class->entry[*i];
        size_t n = first_size(e->path);
        if (n == 0 || n > 1000 || is_stray(e->path) || is_mail(e->path)) continue;
        bool seen = !strncmp(e->path, folder, n) && folder[n] == '/';
        bool holds = e->kind == ENTRY_FOLDER || e->kind == ENTRY_ARCHIVE || e->path[n] == '/';
        *bare |= !holds && e->kind != ENTRY_OTHER;  // a roster may lie there
        if (seen || !holds) continue;
        snprintf(folder, 1024, "%.*s/", (int)n, e->path);
        return true;
    }
    return false;
}

// How many students a download is about, 0, 1 or 2 for more.
static int count_owners(const struct class* class, const char* folder) {
    char first[1024] = "";
    struct said s;
    for (int i = 0; i < class->entries; i++) {
        const struct entry* e = &class->entry[i];
        if (!is_in(e, folder)) continue;
        const char* name = e->path + strlen(folder);
        if (!strcmp(name, METADATA_FILE)) return 2;
        if (!platform_says(name, &s)) continue;
        char who[ID_SIZE + 2 * KEY_SIZE];
        snprintf(who, sizeof who, "%s/%s%s", s.owner.name, s.owner.key, s.owner.number);
        if (first[0] && strcmp(first, who) != 0) return 2;
        snprintf(first, sizeof first, "%s", who);
    }
    return first[0] != '\0';
}

// Is there a folder MAIL, and beside it something that a platform gives?
static bool has_mail(const struct class* class, int downloads) {
    bool found = false, platform = downloads > 0;
    for (int i = 0; i < class->entries; i++) {
        const char* path = class->entry[i].path;
        found |= !strncmp(path, mail, sizeof mail - 1);
        platform |= is_platforms(path) || !strcmp(path, METADATA_FILE);
    }
    return found && platform;
}

// The places in SUBMISSIONS but MAIL: itself, or the downloads in it if there is nothing else.
// Beside other hand-ins a folder is a download only if it has the name of one: a student might make
// one up. Where it may be either, class->beside says so.
static int find_downloads(struct class* class, struct place place[], int* downloads) {
    char only[1024] = "", folder[1024] = "", other[1024] = "", whole[PATH_MAX];
    const char* own = realpath(class->submissions, whole) ? base_name(whole) : "";
    bool bare = false, all = true;
    int count = 0, named = 0;
    memset(&place[0], 0, sizeof place[0]);
    *downloads = 0;
    if (class->plain) return 1;
    if (is_download(class, "", only) || has_slug(class, "", own, strlen(own), place[0].slug)) {
        *downloads = 1;
        return 1;
    }
    for (int i = 0; count < MOST_PLACES - 2 && next_folder(class, &i, folder, &bare);) {
        if (find_place(class, folder, &place[count])) {
            count++;
        } else {
            if (all) snprintf(other, sizeof other, "%s", folder);
            all = false;
        }
    }
    *downloads = count;
    if (count > 0 && all && !bare) return count;
    *downloads = 0;
    for (int p = 0; p < count; p++) {
        const char* path = place[p].path;
        if (!is_archive(class, path) && has_platforms_name(&place[p], path)) {
            place[named++] = place[p];
            continue;
        }
        const bool several = place[p].slug[0] || count_owners(class, path) > 1;
        if (several && !class->beside[0])
            snprintf(class->beside, sizeof class->beside,
                     "%.500s looks like a download of the class, and %.500s %s", path,
                     all ? "files" : other, all ? "lie" : "lies");
        else if (!several)
            todo_say(
                "%s looks like a download, but there are other hand-ins beside it: it is taken "
                "for one student's. Give it as SUBMISSIONS= if it is a download; if not, "
                "LAYOUT=plain",
                path);
    }
    *downloads = named;
    memset(&place[named], 0, sizeof place[named]);
    // An archive with all submissions in one folder.
    if (class->entry[0].kind == ENTRY_ARCHIVE && !class->entry[0].path[0] && only[0])
        snprintf(place[named].path, sizeof place[named].path, "%s", only);
    return named + 1;
}

// All places, MAIL first: what lies in it lies in SUBMISSIONS, too.
static int find_places(struct class* class, struct place place[MOST_PLACES]) {
    int downloads, count = find_downloads(class, place + 1, &downloads);
    if (!class->plain && has_mail(class, downloads)) {
        place[0] = (struct place){.mail = true};
        snprintf(place[0].path, sizeof place[0].path, "%s", mail);
        return count + 1;
    }
    memmove(place, place + 1, (size_t)count * sizeof *place);
    return count;
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
    class->handin[class->handins] = (struct handin){.row = row,
                                                    .place = place,
                                                    .of = -1,
                                                    .where = p->path,
                                                    .mailed = p->mail,
                                                    .inner = p->archive,
                                                    .first = -1};
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

// The hand-in of the owner in this place, called so. Of a group the first has the entries, and the
// others refer to it: `first` is that one, or -1.
static int handin_of_owner(struct class* class, const struct owner* o, const struct place* p,
                           const char* name, size_t size, int first) {
    static int row[MOST_MEMBERS];
    const int count = rows_of_owner(class, o, p->index, row);
    for (int i = 0; i < count; i++) {
        const int h = handin_of(class, row[i], p, name, size);
        if (first < 0) first = h;
        if (h != first) class->handin[h].of = first;
        if (count > 1) set_time(class, h, roster_time(class, &class->row[row[i]], NULL));
    }
    return first;
}

// One of a Gradescope export: everybody of a group has handed in the same.
static void give_submitted(struct class* class, const struct place* p, struct entry* e) {
    const char* path = e->path + strlen(p->path);
    size_t n = first_size(path);
    for (int i = 0; i < p->count; i++) {
        const struct submitters* s = &p->submitters[i];
        if (strncmp(s->folder, path, n) != 0 || s->folder[n]) continue;
        int first = -1;
        for (int k = 0; k < s->count; k++)
            first = handin_of_owner(class, &s->owner[k], p, path, n, first);
        set_time(class, first, s->time);
        class->handin[first].fixed = true;
        e->time = e->inner_time = 0;  // its files have no time of a hand-in
        give(class, e, first, path + n + (path[n] == '/'), -1);
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
    const int h = handin_of_owner(class, &owner, p, name, strlen(name), -1);
    const struct row* row = &class->row[class->handin[h].row];
    if (!p->mail)
        set_time(class, h, roster_time(class, row, owner.key[0] ? owner.key : owner.name));
    give(class, e, h, holds ? path + n + (path[n] == '/') : path, lesson);
}

// Canvas's users have numbers of their own, which its gradebook has, too.
static void number_said(const struct class* class, struct said* s) {
    if (!s->canvas) return;
    snprintf(s->owner.number, sizeof s->owner.number, "%s", s->owner.key);
    s->owner.sure = class->roster_kind == ROSTER_CANVAS && s->owner.key[0];
    if (class->roster_kind != ROSTER_CANVAS) s->owner.key[0] = '\0';
}

static void give_said(struct class* class, const struct place* p, struct entry* e, struct said* s) {
    char name[ID_SIZE + 8];
    number_said(class, s);
    snprintf(name, sizeof name, "%s%s", s->owner.name, s->late ? " LATE" : "");
    const int handin = handin_of_owner(class, &s->owner, p, name, strlen(name), -1);
    struct handin* h = &class->handin[handin];
    if (s->canvas) e->time = s->attachment;
    h->canvas = s->canvas;
    h->moodle = !s->canvas;
    h->fixed |= s->canvas;  // its files have the time of the download
    h->late |= s->late;
    if (s->attachment > h->order) h->order = s->attachment;
    set_time(class, handin, roster_time(class, &class->row[h->row], s->owner.number));
    give(class, e, handin, s->rest ? s->rest : "", -1);
    if (!s->rest) snprintf(e->why, sizeof e->why, "a text or a link, no file");
}

// Nobody gets for a name the row of somebody who has its number or address.
static void claim_rows(struct class* class, const struct place* place, int places) {
    for (int p = 0; p < places; p++)
        for (int i = 0; i < place[p].count && place[p].submitters; i++)
            for (int k = 0; k < place[p].submitters[i].count; k++)
                row_claim(class, &place[p].submitters[i].owner[k], p);
    for (int i = 0; i < class->entries && !class->plain; i++) {
        struct said s;
        int p = 0;
        while (p < places && !is_in(&class->entry[i], place[p].path)) p++;
        if (p == places || place[p].submitters) continue;
        if (!platform_says(class->entry[i].path + strlen(place[p].path), &s)) continue;
        number_said(class, &s);
        row_claim(class, &s.owner, p);
    }
}

// The time of the archive that the place is, or lies in; 0: it is in none.
static int64_t archive_time(const struct class* class, const char* place) {
    for (int i = 0; i < class->entries; i++) {
        const struct entry* e = &class->entry[i];
        const size_t n = strlen(e->path);
        if (e->kind == ENTRY_ARCHIVE && !strncmp(place, e->path, n) && (n == 0 || place[n] == '/'))
            return e->time;
    }
    return 0;
}

// Whatever came back in one copy may have the time of that copy. What came by mail has that of its
// saving. Moodle's zip_writer.php gives no
// time to what it writes, and ZipStream takes the present one: the hours of a large class are
// minutes there. Its archive, as a browser saves it, is as old.
static void find_copied(struct class* class, const struct place* place, int places) {
    enum { MOMENT = 120, DOWNLOAD = 600 };
    for (int p = 0; p < places; p++) {
        int64_t first = INT64_MAX, last = 0;
        int count = 0;
        // With the worksheet a hand-in that it does not time has no time but that of the download.
        const bool sheet = class->roster_kind == ROSTER_WORKSHEET;
        bool moodle = false;
        for (int i = 0; i < class->handins; i++) {
            const struct handin* h = &class->handin[i];
            if (h->place != p || h->fixed || h->of >= 0 || !h->time) continue;
            first = h->time < first ? h->time : first;
            last = h->time > last ? h->time : last;
            moodle |= h->moodle;
            count++;
        }
        const int64_t archive = moodle ? archive_time(class, place[p].path) : 0;
        const bool as_archive =
            archive && archive - first <= DOWNLOAD && last - archive <= DOWNLOAD;
        const bool at_once = last - first <= (moodle ? DOWNLOAD : MOMENT);
        const bool shared = as_archive || (at_once && count >= (moodle ? 2 : 3));
        for (int i = 0; i < class->handins; i++) {
            struct handin* h = &class->handin[i];
            if (h->place != p || h->fixed) continue;
            h->shared |= shared;
            h->copied |= shared || place[p].mail || (sheet && h->moodle);
        }
    }
}

// What the others of a group have handed in came when it came.
static void share_times(struct class* class) {
    for (int i = 0; i < class->handins; i++) {
        struct handin* h = &class->handin[i];
        if (h->of < 0) continue;
        const struct handin* o = &class->handin[h->of];
        if (!h->time) h->time = o->time, h->copied = o->copied, h->shared = o->shared;
        h->late |= o->late;
        h->canvas = o->canvas;
        h->order = o->order;
    }
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
    const int places = find_places(class, place);
    for (int p = 0; p < places; p++) {
        place[p].index = p;
        place[p].archive = is_archive(class, place[p].path);
        read_metadata(class, &place[p]);
    }
    claim_rows(class, place, places);
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
        } else if (!class->plain && platform_says(path, &s)) {
            give_said(class, &place[p], e, &s);
        } else if (!is_stray(path)) {
            give_named(class, &place[p], e);
        }
    }
    find_copied(class, place, places);
    share_times(class);
    for (int p = 0; p < places; p++) free(place[p].submitters);
    for (int i = class->entries; i-- > 0;) {
        struct entry* e = &class->entry[i];
        if (e->handin < 0) continue;
        e->next = class->handin[e->handin].first;
        class->handin[e->handin].first = i;
    }
}
