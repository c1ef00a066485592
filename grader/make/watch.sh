#!/bin/sh
# watch.sh: what `make watch` does: grades again whenever the file is saved. Ctrl-C ends it.
# usage: watch.sh LESSON
command -v inotifywait >/dev/null 2>&1 || {
    echo "make watch needs inotifywait. Run: sh setup.sh" >&2
    exit 2
}
. grader/make/file.sh
file=$(file_of "$1")
[ -f "$file" ] || {
    echo "$file does not exist." >&2
    exit 2
}
trap 'echo; exit 0' INT TERM
while :; do
    if [ -t 1 ]; then printf '\033[H\033[2J'; fi
    graded=$(stat -c %Y.%s "$file" 2>/dev/null)
    flock build/.lock make -s --no-print-directory tools && sh grader/make/grade.sh "$1"
    printf '\nWaiting for you to save %s (Ctrl-C ends).\n' "$file"
    # Many editors write a new file and rename it over the old one: watch the folder. A save during
    # the grade has gone by already: compare, and look again every few seconds.
    while [ "$(stat -c %Y.%s "$file" 2>/dev/null)" = "$graded" ]; do
        inotifywait -qq -t 5 -e close_write -e moved_to --include "$(basename "$file")\$" \
            "$(dirname "$file")"
    done
done
