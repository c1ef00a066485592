#!/bin/sh
# unit.sh: the grader's own unit tests, also under the address and undefined-behaviour sanitizers.
# usage: unit.sh
. grader/test/tell.sh
out=build/test/unit
mkdir -p "$out"
for test in grader/test/unit/*.c; do
    program=$out/$(basename "$test" .c)
    # The rooms are compiled once more with the sanitizers; main.c belongs to a lesson's check.
    rooms=$(find grader/check grader/wall grader/report -name '*.c' ! -path grader/check/main.c)
    # shellcheck disable=SC2086  # words
    if said=$(gcc -std=c11 -D_GNU_SOURCE -g -Wall -Wextra -Werror -fsanitize=address,undefined \
        -fno-sanitize-recover=all ${CPPFLAGS:-} -Igrader "$test" $rooms ${LDFLAGS:-} -pthread -lcheck_pic \
        -lsubunit -lrt -ljansson -lmd -lm -o "$program" 2>&1); then
        expect "unit $(basename "$test" .c)" "$program"
    else
        tell FAIL "unit $(basename "$test" .c)" "$said"
    fi
done
expect "cut: malformed regions are errors" sh grader/test/unit/cut.sh
finish
