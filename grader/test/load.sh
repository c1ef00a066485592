#!/bin/sh
# load.sh: points do not depend on what else the machine does. A kernel that takes 60 % of the CPU
# time of a launch, and an endless one, are graded alone and beside twenty busy processes, plain and
# watched: the same items, causes and lines. usage: load.sh
. grader/test/tell.sh
dir=$(mktemp -d "${TMPDIR:-/tmp}/load.XXXXXX") || exit 1
busy=
# shellcheck disable=SC2086  # words
trap '[ -z "$busy" ] || kill $busy 2>/dev/null; rm -rf "$dir"' EXIT
trap 'exit 130' INT TERM HUP
check=$build/grader/01_vector_add/check
# With --seconds 2 a launch has 0.4 s of CPU time, a watched one 0.8 s.
kernel() { # kernel NAME CONDITION: block 0 goes on while it holds, spent() being the CPU seconds of this launch
    awk -v condition="$2" '
        /BEGIN SOLUTION \(about 2 lines\)/ {
            print "    volatile double begin = blockIdx.x == 0 && threadIdx.x == 0 ? spent() : 1e9;"
            print "    while (begin < 1e9 && " condition ") { }  // @here"
        }
        { print }
        /vector_add.h"/ {
            print "#include <time.h>"
            print "static __device__ double spent() {"
            print "    struct timespec t;"
            print "    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);"
            print "    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;"
            print "}"
        }' solutions/01_vector_add/vector_add.cu >"$dir/$1.cu"
}
kernel slow 'spent() - begin < 0.24'
kernel endless true
line=$(grep -n '// @here' "$dir/endless.cu" | cut -d: -f1)
grades() { # grades WHEN
    for name in slow endless; do
        for item in 'n = 0' 'no stray'; do
            "$check" "$dir/$name.cu" --device cpu --uninspected --seconds 2 --seed 3 --case "$item" --format json |
                grep -E '^      "(name|points|outcome|cause)|endless.cu:'"$line" | sed "s|: \"case.*endless.cu:$line.*|: its line|"
        done >"$dir/$name.$1"
    done
}
grades alone
n=0
while [ $n -lt 20 ]; do
    timeout 60 sh -c "while :; do :; done" &
    busy="$busy $!"
    n=$((n + 1))
done
grades beside
# shellcheck disable=SC2086
kill $busy
busy=
holds() { # holds FILE TEXT: both items have it
    [ "$(grep -c "$2" "$dir/$1.alone")" = 2 ] || { cat "$dir/$1.alone" && false; }
}
expect "a kernel that takes 60 % of its time passes" holds slow '"outcome": "pass"'
expect "an endless one is named" holds endless '"cause": "endless_loop"'
expect "with its line" holds endless 'its line'
for name in slow endless; do expect "$name: the same beside 20 busy processes" diff "$dir/$name.alone" "$dir/$name.beside"; done
finish
