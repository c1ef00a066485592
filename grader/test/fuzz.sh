#!/bin/sh
# fuzz.sh: what `make fuzz` does: libFuzzer makes inputs for every reader of strangers' files (the
# programs of grader/test/fuzz), with the address and undefined-behaviour sanitizers. A crash, a
# hang of 10 seconds or a use of 2 GB is a failure; its input is kept. The corpus is kept, too, for
# the next run.
# usage: fuzz.sh [NAME...]    all without a name; in the environment FUZZ_SECONDS for each of them (8), TEST_SEED;
#                             SAMPLE="96 WORD": one reader in three, drawn by WORD
. grader/test/tell.sh
need "fuzz" clang
seconds=${FUZZ_SECONDS:-8}
# shellcheck disable=SC2046  # one word each
[ $# -gt 0 ] || set -- $(basename -s .c grader/test/fuzz/*.c | sample fuzz 32)
# shellcheck disable=SC2046  # one word each
make -s --no-print-directory BUILD=fuzz -j"$(nproc)" $(printf 'build/fuzz/test/fuzz/%s ' "$@") || exit 1
[ -d build/fuzz/corpus ] || sh grader/test/fuzz/corpus.sh build/fuzz/corpus || exit 1
for name; do
    log=build/fuzz/$name.log
    "build/fuzz/test/fuzz/$name" -max_total_time="$seconds" -timeout=10 -rss_limit_mb=2048 -seed="${TEST_SEED:-0}" \
        -artifact_prefix="build/fuzz/$name-" -print_final_stats=1 -close_fd_mask=3 \
        "build/fuzz/corpus/$name" >"$log" 2>&1
    status=$?
    ran=$(sed -n 's/^stat::number_of_executed_units: *//p' "$log")
    if [ "$status" = 0 ] && [ "${ran:-0}" -gt 0 ]; then
        tell ok "fuzz $name: $ran inputs in $seconds s"
    else
        tell FAIL "fuzz $name" "$(grep -v '^#' "$log" | tail -n 30)"
    fi
done
finish
