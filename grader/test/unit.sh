#!/bin/sh
# unit.sh: the grader's own unit tests, under the address and undefined-behaviour sanitizers.
# usage: unit.sh
. grader/test/tell.sh
# sanitized.sh builds there, too: never both the same file.
mkdir -p build
make_debug() { flock build/.debug.lock make -s --no-print-directory BUILD=debug "$@"; }
make_debug -k -j"$(nproc)" units >/dev/null 2>&1 # each says below why it failed
for test in grader/test/unit/*.c; do
    program=build/debug/test/unit/$(basename "$test" .c)
    if said=$(make_debug "$program" 2>&1); then
        expect "unit ${program##*/}" "$program"
    else
        tell FAIL "unit ${program##*/}" "$said"
    fi
done
expect "cut: malformed regions are errors" sh grader/test/unit/cut.sh
expect "headers: first lines, and what is cut from solutions" sh grader/test/unit/headers.sh
expect "ledger: what was green is found again, damage is ignored" sh grader/test/unit/ledger.sh
finish
