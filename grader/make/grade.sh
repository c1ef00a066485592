#!/bin/sh
# grade.sh: what `make grade` does: one lesson in full, or all of them as a table.
# usage: grade.sh LESSON...   with FILE, FROM, DEVICE, CARD, SEED, CASE, FORMAT, ISOLATION in the environment

. grader/make/file.sh

check() {
    lesson=$1 format=$2
    set -- "$(file_of "$lesson")" --format "$format" --log "build/log/$lesson.txt"
    [ -n "$DEVICE" ] && set -- "$@" --device "$DEVICE"
    [ -n "$CARD" ] && set -- "$@" --card "$CARD"
    [ -n "$SEED" ] && set -- "$@" --seed "$SEED"
    [ -n "$CASE" ] && set -- "$@" --case "$CASE"
    [ -n "$ISOLATION" ] && set -- "$@" --isolation "$ISOLATION"
    # Of the student's own file: a whole grade counts as progress; make hint follows the last grade,
    # whole or not.
    if [ -z "$FILE$FROM" ] && [ -n "$CASE" ]; then
        set -- "$@" --save "build/hints/$lesson.json"
    elif [ -z "$FILE$FROM" ]; then
        rm -f "build/hints/$lesson.json"
        set -- "$@" --save "build/results/$lesson.json"
    fi
    "$build/grader/$lesson/check" "$@"
    code=$?
    own=$(exercise "$lesson")
    [ -z "$FILE" ] || [ -e "$FILE" ] || [ ! -e "$own" ] ||
        echo "FILE= is from the course's folder on. The exercise is $own; without FILE= it is graded." >&2
    return "$code"
}

if [ $# = 1 ]; then
    check "$1" "${FORMAT:-text}"
    exit
fi

[ -z "$FILE" ] || {
    echo "FILE= needs a LESSON=." >&2
    exit 2
}
[ "$FORMAT" != problems ] || {
    echo "FORMAT=problems needs a LESSON=." >&2
    exit 2
}
# All lessons: a table and a total, or one JSON array.
table=$(mktemp) || exit 2
trap 'rm -f "$table" "$table.said" "$table.all"' EXIT
trap 'exit 130' INT TERM
format=${FORMAT:-line} worst=0 separator='['
[ "$format" != text ] || format=line
for lesson; do
    check "$lesson" "$format" >"$table" 2>"$table.said"
    [ "$code" != 4 ] || continue # CASE= is no item of this lesson
    # Nothing to grade: a word that no lesson understands.
    if [ "$code" = 2 ] && [ ! -s "$table" ]; then
        cat "$table.said" >&2
        exit 2
    fi
    [ "$code" -le "$worst" ] || worst=$code
    if [ ! -s "$table" ]; then
        echo "$lesson: the grader failed (make grade LESSON=${lesson%%_*})" >&2
    elif [ "$format" = line ]; then
        tee -a "$table.all" <"$table"
    else
        printf '%s\n' "$separator"
        separator=,
        cat "$table"
    fi
done
[ "$separator" = , ] || [ -s "$table.all" ] || {
    echo "There was nothing to grade${CASE:+: CASE=$CASE matches no item of any lesson}." >&2
    exit 2
}
if [ "$format" != line ]; then
    echo ']'
else
    awk '{ split($2, p, "/"); got += p[1]; all += p[2] }
         END { printf "%-28s %3d/%d\n", "total", got, all }' "$table.all"
fi
exit "$worst"
