#!/bin/sh
# grade.sh: what `make grade` does: one lesson in full, or all of them as a table.
# usage: grade.sh LESSON...   with FILE, FROM, DEVICE, SEED, CASE, FORMAT, ISOLATION in the environment

# The file to grade: FILE=, or the lesson's own in exercises/ or FROM=solutions.
file_of() {
    echo "${FILE:-${FROM:-exercises}/$1/${1#*_}.cu}"
}

check() {
    lesson=$1 format=$2
    set -- "$(file_of "$lesson")" --format "$format" --log "build/log/$lesson.txt"
    [ -n "$DEVICE" ] && set -- "$@" --device "$DEVICE"
    [ -n "$SEED" ] && set -- "$@" --seed "$SEED"
    [ -n "$CASE" ] && set -- "$@" --case "$CASE"
    [ -n "$ISOLATION" ] && set -- "$@" --isolation "$ISOLATION"
    # Only a whole grade of the student's own file counts as progress.
    [ -z "$FILE$FROM$CASE" ] && set -- "$@" --save "build/results/$lesson.json"
    "build/grader/$lesson/check" "$@"
}

if [ $# = 1 ]; then
    check "$1" "${FORMAT:-text}"
    exit
fi

[ -z "$FILE" ] || {
    echo "FILE= needs a LESSON=." >&2
    exit 2
}
worst=0 table=$(mktemp) || exit 2
trap 'rm -f "$table"' EXIT
trap 'exit 130' INT TERM
for lesson; do
    check "$lesson" "${FORMAT:-line}" 2>/dev/null | tee -a "$table"
    grep -q . "$table" || worst=3
done
[ "${FORMAT:-text}" = json ] && exit 0
awk '{ split($2, p, "/"); got += p[1]; all += p[2] }
     END { printf "%-28s %3d/%d\n", "total", got, all; exit got != all }' "$table" || worst=1
exit "$worst"
