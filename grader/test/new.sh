#!/bin/sh
# new.sh: a lesson as `make new` writes it is whole: it grades itself, and all that a lesson has to
# prove holds. usage: new.sh
. grader/test/tell.sh
dir=$(mktemp -d "${TMPDIR:-/tmp}/new lesson.XXXXXX") || exit 1
trap 'rm -rf "$dir"' EXIT
mkdir "$dir/course"
# The tree as it is here, with what is built, and a history of one commit.
git ls-files -co --exclude-standard -z |
    xargs -0 cp -rp --parents -t "$dir/course" build/grader build/cpu build/*.a 2>/dev/null
cd "$dir/course" || exit 1
git init -q . && git -c user.name=test -c user.email=test@localhost commit -q --allow-empty -m empty
unset MAKEFLAGS MAKELEVEL
new() { make -s new "$@" >"$dir/said" 2>&1; }
refused() { # refused TEXT OPTION...
    text=$1
    shift
    ! new "$@" && grep -q "$text" "$dir/said"
}
expect "new: a number of two digits" refused 'two digits' LESSON=9 NAME=moving_average
expect "new: a name that C takes" refused 'small letters' LESSON=40 NAME=Moving-average
expect "new: not over another lesson" refused 'there already' LESSON=05 NAME=moving_average
expect "new: a lesson is written" new LESSON=40 NAME=moving_average
expect "new: no name of the template is left" sh -c '! grep -r "new_lesson\|NEW_LESSON\|lesson 00" */40_*'
full() { make -s grade LESSON=40 FROM=solutions 2>&1 | grep -q '^Score: 100/100'; }
expect "new: its solution gets 100" full
expect "new: it proves all that a lesson has to" make -s test LESSON=40
finish
