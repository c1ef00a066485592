#!/bin/sh
# grade.sh: what `make grade` does: one lesson in full, or all of them as a table.
# usage: grade.sh LESSON...   with FILE, FROM, DEVICE, SEED, CASE, FORMAT, ISOLATION in the environment

. grader/make/file.sh

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
# All lessons: a table and a total, or one JSON array.
table=$(mktemp) || exit 2
trap 'rm -f "$table" "$table.all"' EXIT
trap 'exit 130' INT TERM
format=${FORMAT:-line} worst=0 separator='['
[ "$format" != text ] || format=line
for lesson; do
    [ "$format" = line ] || printf '%s\n' "$separator"
    separator=,
    check "$lesson" "$format" >"$table" 2>/dev/null
    code=$?
    [ "$code" -le "$worst" ] || worst=$code
    if [ -s "$table" ]; then cat "$table"; else echo "$lesson: the grader failed (make grade LESSON=${lesson%%_*})"; fi
    if [ "$format" = line ]; then cat "$table" >>"$table.all"; fi
done
if [ "$format" != line ]; then
    echo ']'
else
    awk '{ split($2, p, "/"); got += p[1]; all += p[2] }
         END { printf "%-28s %3d/%d\n", "total", got, all }' "$table.all"
fi
exit "$worst"
