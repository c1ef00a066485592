#!/bin/sh
# analyze.sh: what `make analyze` does: gcc follows every way through every function of the grader
# (-fanalyzer) and finds nothing. Where it errs stands, with the reason, in the Makefile. Only what
# has changed is analysed again; with SAMPLE="96 WORD" one file in three of that, drawn by WORD.
# usage: analyze.sh
. grader/test/tell.sh
# Another version errs elsewhere.
case $(gcc -dumpversion) in
12*) ;;
*)
    tell skip "analysis" "gcc is not version 12"
    exit 77
    ;;
esac
drawn=
[ -z "${SAMPLE:-}" ] || drawn=$(make -n --no-print-directory BUILD=analyze analyzed |
    sed -n 's/.* -c [^ ]*\.c -o \([^ ]*\.o\)$/\1/p' | sample analyze 32)
# shellcheck disable=SC2086  # one word an object
expect "analysis: gcc -fanalyzer finds nothing${drawn:+ in $(echo "$drawn" | wc -l) files that were drawn}" \
    make -sk --no-print-directory BUILD=analyze -j"$(nproc)" ${drawn:-analyzed}
finish
