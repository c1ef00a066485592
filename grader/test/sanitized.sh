#!/bin/sh
# sanitized.sh: a grader that is built with the address and undefined-behaviour sanitizers
# (BUILD=debug) grades the solution and five wrong kernels of a lesson, and the answers of lesson
# 21, as the usual one does. It neither breaks a rule of C nor leaves memory behind.
# usage: sanitized.sh [LESSON]     05_tiled_matmul
BUILD=debug
export BUILD
. grader/test/tell.sh
lesson=${1:-05_tiled_matmul}
# Of this grader the two checks alone.
mkdir -p build
flock build/.debug.lock make -s --no-print-directory -j"$(nproc)" "$build/grader/$lesson/check" \
    "$build/grader/21_flop_counting/check" || exit 1
# A grader without them would report nothing either.
expect "sanitized: the grader is built with both sanitizers" sh -c "
    nm '$build/grader/$lesson/check' | grep -q __asan_init && nm '$build/grader/$lesson/check' | grep -q __ubsan_handle"
logs=build/test/sanitized
rm -rf "$logs" && mkdir -p "$logs" || exit 1
ASAN_OPTIONS=log_path=$PWD/$logs/log
export ASAN_OPTIONS
expect "sanitized: solution of $lesson" \
    sh grader/test/kernel.sh "$lesson" "solutions/$lesson/${lesson#*_}.cu" right 1
sh grader/test/wrong.sh list "$lesson" >/dev/null || tell FAIL "sanitized: wrong kernels of $lesson"
count=0
for file in "build/wrong/$lesson"/*.cu; do
    [ "$count" -lt 5 ] || break
    count=$((count + 1))
    expect "sanitized: $file" sh grader/test/kernel.sh "$lesson" "$file" wrong 1
done
expect "sanitized: answers" "$build/grader/21_flop_counting/check" solutions/21_flop_counting/answers.txt
expect "sanitized: a profile" "$build/grader/$lesson/check" profile "solutions/$lesson/${lesson#*_}.cu" \
    --device cpu --format table
found=$(find "$logs" -type f -exec head -n 40 {} +)
if [ -z "$found" ]; then tell ok "sanitized: nothing is reported"; else
    tell FAIL "sanitized: nothing is reported" "$found"
fi
finish
