#!/bin/sh
# new.sh: what `make new LESSON=40 NAME=moving_average` does: writes a whole small lesson of that
# number and name, from grader/make/template, which grades itself and passes its tests; an author
# replaces it piece by piece. usage: new.sh NUMBER NAME
set -eu
number=$1 name=$2
template=grader/make/template
refuse() {
    echo "$1" >&2
    exit 2
}
case $number in [0-9][0-9]) ;; *) refuse "LESSON= must be two digits, as in make new LESSON=40 NAME=moving_average" ;; esac
case $name in
'' | [!a-z]* | *[!a-z0-9_]*) refuse "NAME= must be the launcher's name: small letters, digits and _, as in NAME=moving_average" ;;
esac
for there in lessons/"$number"_* lessons/[0-9][0-9]_"$name"; do
    [ ! -e "$there" ] || refuse "$there is there already; choose another number and name."
done
macro=$(echo "$name" | tr '[:lower:]' '[:upper:]')
(cd $template && find . -type f) | sort | while read -r file; do
    to=$(echo "${file#./}" | sed "s/00_new_lesson/${number}_$name/; s/new_lesson/$name/")
    mkdir -p "$(dirname "$to")"
    sed "s/00_new_lesson/${number}_$name/g; s/new_lesson/$name/g; s/NEW_LESSON/$macro/g
        s/lesson 00\b/lesson $number/g; s/LESSON=00/LESSON=$number/g; s/: 00 /: $number /; s/^# 00 /# $number /" \
        "$template/$file" >"$to"
    echo "$to"
done
sh grader/make/exercises.sh "${number}_$name"
cat <<TEXT

It grades itself: make grade LESSON=$number FROM=solutions, and make test LESSON=$number. Then, in this order: the contract
(lessons/${number}_$name/$name.h), the solution, call.c and check.c, the wrong kernels (make wrong LESSON=$number), the text.
CONTRIBUTING.md says what each file holds. Last, make format, and its line in README.md's table.
TEXT
