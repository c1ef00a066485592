#!/bin/sh
# analyze.sh: what `make analyze` does: gcc follows every way through every function of the grader
# (-fanalyzer) and finds nothing. Where it errs stands, with the reason, in the Makefile. Only what
# has changed is analysed again. usage: analyze.sh
. grader/test/tell.sh
# Another version errs elsewhere.
case $(gcc -dumpversion) in
12*) ;;
*)
    tell skip "analysis" "gcc is not version 12"
    exit 77
    ;;
esac
expect "analysis: gcc -fanalyzer finds nothing" \
    make -sk --no-print-directory BUILD=analyze -j"$(nproc)" analyzed
finish
