#!/bin/sh
# The CPU device on aarch64: cross-compiles it and its self-checking programs, statically, and runs
# them under qemu-user. sh aarch64.sh BUILD_DIR, where BUILD_DIR holds cpu/rewrite. SAMPLE="96 WORD"
# in the environment: one in four of the programs, drawn by WORD.
# Needs aarch64-linux-gnu-g++ and qemu-aarch64; exits with 77 when they are missing.
# shellcheck disable=SC2086  # $flags is a list of words
set -u
here=$(cd "$(dirname "$0")" && pwd) || exit 1
. "$here/../../test/tell.sh"
build=${1:?usage: aarch64.sh BUILD_DIR}
build=$(cd "$build" && pwd) || exit 1
for tool in aarch64-linux-gnu-gcc aarch64-linux-gnu-g++ qemu-aarch64; do
    command -v "$tool" > /dev/null || {
        echo "skipped: $tool is missing (apt install g++-aarch64-linux-gnu qemu-user)"
        exit 77
    }
done
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
trap 'exit 1' INT TERM

for file in "$here"/../cards/*.c "$here"/../device/*.c "$here"/../watch/*.c; do
    printf '%s\0%s\0' "$file" "$work/$(basename "$file" .c).o"
done > "$work/jobs"
# shellcheck disable=SC2016  # $1 and $2 are the inner shell's
xargs -0 -n 2 -P "$(nproc)" sh -c 'exec aarch64-linux-gnu-gcc -std=c11 -D_GNU_SOURCE -O2 -g -Wall -Wextra \
    -Werror -I"$0" -c "$1" -o "$2"' "$here/../.." < "$work/jobs" || exit 1
aarch64-linux-gnu-ar rcs "$work/libcpu.a" "$work"/*.o || exit 1

flags=$(cat "$here/../cxxflags")
with_headers() { # with_headers COMPILER...
    "$@" "-I$here/../include" "-I$here/../../../lessons" "-I$here"
}
failed=0
for name in $(printf '%s\n' language threads numbers instructions | sample aarch64 24); do
    if "$build/cpu/rewrite" "$here/$name.cu" "$work/$name.cpp" "$name.cu" &&
        with_headers aarch64-linux-gnu-g++ $flags -Werror -static -no-pie \
            "$work/$name.cpp" "$work/libcpu.a" -lpthread -lm -o "$work/$name" &&
        CUDEV_WORKERS=2 timeout 120 qemu-aarch64 "$work/$name" 2> "$work/log"; then
        echo "ok      aarch64 $name"
    else
        echo "FAILED  aarch64 $name"
        cat "$work/log"
        failed=1
    fi
done
# a diagnosis: stacks and signals work there, too
"$build/cpu/rewrite" "$here/diagnoses.cu" "$work/diagnoses.cpp" diagnoses.cu &&
    with_headers aarch64-linux-gnu-g++ $flags -static -no-pie "$work/diagnoses.cpp" \
        "$work/libcpu.a" -lpthread -lm -o "$work/diagnoses" || failed=1
for expected in "divergence barrier_divergence" "two_calls bad_mask" "host_write host_access"; do
    timeout 60 qemu-aarch64 "$work/diagnoses" "${expected% *}" 2> "$work/log"
    if grep -qxF "hook: ${expected#* }, ok" "$work/log"; then
        echo "ok      aarch64 diagnosis ${expected#* }"
    else
        echo "FAILED  aarch64 diagnosis ${expected#* }"
        cat "$work/log"
        failed=1
    fi
done

# the watchers: what they find and count, without lines (the host's addr2line cannot read the
# program)
watched=$(cat "$here/../cxxflags-watched")
# watch NAME MODE FINDINGS: runs test/watch/NAME.cu, which has that many findings
watch() {
    name=$(basename "$1")
    "$build/cpu/rewrite" "$here/watch/$1.cu" "$work/$name.cpp" "$name.cu" &&
        with_headers aarch64-linux-gnu-g++ $watched "-I$here/watch" -c "$work/$name.cpp" \
            -o "$work/$name.obj" &&
        aarch64-linux-gnu-g++ -static -no-pie "$work/$name.obj" "$work/libcpu.a" -lpthread -lm \
            -o "$work/$name" &&
        CUDEV_TIMEOUT=60 CUDEV_WATCH=$2 timeout 300 qemu-aarch64 "$work/$name" > "$work/log" 2>&1 &&
        [ "$(grep -c FINDING "$work/log")" -eq "$3" ]
}
printf '%s\n' "counters profile 0" "clean/flags check 0" "clean/halves check 0" \
    "clean/partial_masks check 0" "planted/matmul_no_first_barrier check 2" \
    "planted/last_block_no_fence check 1" "planted/uninitialised_half check 1" \
    "planted/misaligned_float4 check 1" | sample "aarch64 watch" 24 > "$work/tests"
while read -r test; do
    if watch $test < /dev/null; then
        echo "ok      aarch64 watch/${test%% *}"
    else
        echo "FAILED  aarch64 watch/${test%% *}"
        cat "$work/log"
        failed=1
    fi
done < "$work/tests"
exit $failed
