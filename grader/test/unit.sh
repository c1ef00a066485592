#!/bin/sh
# unit.sh: the grader's own unit tests, under the address and undefined-behaviour sanitizers.
# usage: unit.sh
. grader/test/tell.sh
out=build/test/unit
mkdir -p "$out/rooms"
checklib=-lcheck
[ ! -f "$(gcc -print-file-name=libcheck_pic.a)" ] || checklib="-lcheck_pic -lsubunit"
flags="-std=c11 -D_GNU_SOURCE -g -Wall -Wextra -Werror -fsanitize=address,undefined
    -fno-sanitize-recover=all ${CPPFLAGS:-} -Igrader -Ilessons"

# main.c belongs to a lesson's check.
# shellcheck disable=SC2016,SC2038,SC2086  # the inner shell expands; words
find grader/check grader/wall grader/report grader/formula -name '*.c' ! -path grader/check/main.c |
    xargs -P "$(nproc)" -I F sh -c 'gcc $2 -c F -o "$1/$(echo F | tr / _).o"' sh "$out/rooms" "$flags" ||
    tell FAIL "the rooms compile with the sanitizers"
for test in grader/test/unit/*.c; do
    name=$(basename "$test" .c)
    # shellcheck disable=SC2086  # words
    if said=$(gcc $flags "$test" "$out"/rooms/*.o ${LDFLAGS:-} -pthread $checklib -lrt -ljansson \
        -lmd -lm -o "$out/$name" 2>&1); then
        expect "unit $name" "$out/$name"
    else
        tell FAIL "unit $name" "$said"
    fi
done
expect "cut: malformed regions are errors" sh grader/test/unit/cut.sh
finish
