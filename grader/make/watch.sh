#!/bin/sh
# watch.sh: what `make watch` does: grades again whenever the file is saved. Ctrl-C ends it.
# usage: watch.sh LESSON
command -v inotifywait >/dev/null 2>&1 || {
    echo "make watch needs inotifywait. Run: sh setup.sh" >&2
    exit 2
}
file=${FILE:-${FROM:-exercises}/$1/${1#*_}.cu}
[ -f "$file" ] || {
    echo "$file does not exist." >&2
    exit 2
}
trap 'echo; exit 0' INT TERM
while :; do
    if [ -t 1 ]; then printf '\033[H\033[2J'; fi
    flock build/.lock make -s --no-print-directory tools && sh grader/make/grade.sh "$1"
    printf '\nWaiting for you to save %s (Ctrl-C ends).\n' "$file"
    # Many editors write a new file and rename it over the old one: watch the folder.
    until inotifywait -qq -e close_write -e moved_to --include "$(basename "$file")\$" \
        "$(dirname "$file")"; do sleep 1; done
done
