#!/bin/sh
# coverage.sh: what `make coverage` does: runs the unit tests, a class, hand-ins, and the kernels of
# a few lessons with a grader that counts which lines run, and prints the share of each file's lines
# that ran. The lines that did not: build/coverage/missed/FILE. By hand: it takes minutes.
# usage: coverage.sh [LESSON...]     01_vector_add 05_tiled_matmul 13_causal_ragged 21_flop_counting
BUILD=coverage
# Behind the wall no counters can be written; messages about that are dropped.
GCOV_ERROR_FILE=/dev/null
export BUILD GCOV_ERROR_FILE
. grader/make/file.sh
[ $# -gt 0 ] || set -- 01_vector_add 05_tiled_matmul 13_causal_ragged 21_flop_counting
make -s --no-print-directory ready units "$build/class" "$build/doctor" || exit 2
find "$build" -name '*.gcda' -delete
status=0
for test in "$build"/test/unit/*; do "$test" >/dev/null 2>&1 || status=1; done
for lesson; do
    sh grader/test/wrong.sh list "$lesson" >/dev/null
    for file in "$(solution "$lesson")" "$(exercise "$lesson")" \
        grader/"$lesson"/right/* build/wrong/"$lesson"/*; do
        for format in text json; do
            "$build/grader/$lesson/check" "$file" --format $format --device cpu --seed 7 >/dev/null 2>&1
        done
    done
done
for test in class layouts; do sh "grader/test/$test.sh" >/dev/null 2>&1 || status=1; done
for room in base check wall report formula class; do
    for data in "$build/grader/$room"/*.gcda; do
        name=$room/$(basename "$data" .gcda).c
        # Of a header's lines only those of its own .c count.
        gcov -t "$data" 2>/dev/null | awk -F: -v name="grader/$name" '
            $3 == "Source" { own = substr($4, length($4) - length(name) + 1) == name }
            own && $1 !~ /-$/ && $2 + 0 > 0 { print }' >"$build/lines"
        mkdir -p "$build/missed/$room"
        awk -F: -v name="$name" -v to="$build/missed/$name" '
            { lines++ }
            $1 ~ /#####|=====/ { missed++; print substr($0, 11) >to }
            END { printf "%5.1f %%  %4d of %4d lines  %s\n", 100 * (lines - missed) / lines, lines - missed, lines, name }
            ' "$build/lines"
    done
done
exit $status
