#!/bin/sh
# one.sh: grades what one person handed in, where a service asks for it: a class of one.
# usage: one.sh LESSON[,LESSON] FOLDER OUT     FOLDER holds the exercises, anywhere in it; OUT is as `make class` leaves
#        it, with the student's name `student`. SECRET= as there. Exit status 0 if OUT/exports is there.
# A container often has no bubblewrap: the strongest isolation level that works is taken, and the
# result names it.
build=build${BUILD:+/$BUILD}
set -u
lessons=$1 folder=$2 out=$3
private=$(mktemp -d) || exit 2 # for root or its owner only: other programs of this machine read nothing here
trap 'rm -rf "$private"' EXIT
trap 'exit 130' INT TERM HUP
# In a repository of the student's own the exercises of the course are what is handed in.
[ "$folder" != exercises ] || export OWN_EXERCISES=1
mkdir "$private/student" && cp -rP "$folder/." "$private/student/" || exit 2
make -s --no-print-directory ready "$build/doctor" || exit 2
level=$("$build/doctor" | awk '$2 == "yes" { print $1; exit }')
make -s --no-print-directory class SUBMISSIONS="$private" LESSON="$lessons" OUT="$out" ISOLATION="$level" \
    JOBS=1 ENGINE=local ROSTER= STUDENT= ITEM= REPLAY= LAYOUT=plain DRY=
status=$?
# With a grader error, or with something that has to be looked at, make ends with 2. The export is
# there all the same.
[ $status -le 4 ] && [ -e "$out/exports/gradescope/student.json" ]
