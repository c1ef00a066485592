#!/bin/sh
# bench.sh: the bench (grader/bench) tested on the CPU device: what is timed, what is called wrong, what
# is recorded, and the table made of it.
# usage: bench.sh
# shellcheck disable=SC2016,SC2046,SC2086  # lists of words; awk's own $
. grader/test/tell.sh
here=grader/bench/test
out=build/test/bench
rm -rf "$out"
mkdir -p "$out"
include="-Igrader -Ilessons -I$here -Igrader/cpu/include"
for unit in main arrays test/ceiling test/bench; do
    gcc -std=c11 -D_GNU_SOURCE -Wall -Wextra -Werror -g $include -c "grader/bench/$unit.c" \
        -o "$out/$(basename $unit).o" || failed=1
done
compile() { # compile FILE OBJECT FLAG...: a .cu for the CPU device
    build/cpu/rewrite "$1" "$2.cpp" "$1" || return
    object=$2
    shift 2
    g++ $(cat grader/cpu/cxxflags) $include "$@" -c "$object.cpp" -o "$object"
}
compile grader/bench/device.cu "$out/device.o" || failed=1
g++ -no-pie -rdynamic "$out"/*.o build/grader/check/dtype.o -Wl,--whole-archive build/libcpu.a \
    -Wl,--no-whole-archive -lpthread -ldl -lm -o "$out/bench" || failed=1
versions=
for name in right first_element last_element forgets refuses; do
    compile $here/version.cu "$out/$name.so.o" -fPIC "-DMISTAKE=$(echo $name | tr '[:lower:]' '[:upper:]')" &&
        g++ -shared "$out/$name.so.o" -o "$out/$name.so" || failed=1
    versions="$versions $name=$out/$name.so"
done

BENCH_DRIVER=none "$out/bench" "$out/bench.csv" 0 $versions >"$out/table" 2>"$out/said"
status=$?
row() { # row VERSION SIZE OUTCOME: is in the record
    expect "bench: $1, size $2: $3" awk -F, -v v="$1" -v s="$2" -v o="$3" \
        '$1 == s && $2 == v { found = $9 == o && ($9 != "verified" || $3 > 0 && $6 >= 7) }
         END { exit !found }' "$out/bench.csv"
}
expect "bench: a wrong version makes it fail" [ "$status" = 1 ]
row right 4321 verified
row first_element 1000 "WRONG in a sample"
row last_element 1000 "WRONG: differs from the first version"
row forgets 1000 "WRONG in a timed run"
row forgets 4321 verified
row refuses 1000 verified
row refuses 4321 "does not take this size"
expect "bench: the table shows the share of the copy rate" \
    sh -c "awk -f grader/make/bench_table.awk '$out/bench.csv' | grep -q '^| 1000 | right | [0-9.]* | [0-9]* | [0-9.]* |$'"
expect "bench: no GPU, no figures, no failure" sh -c \
    "PATH=/usr/bin:/bin make -s bench LESSON=02 | grep -q 'no GPU with nvcc here'"

# make tune: of the choices that spill no registers the fastest is marked, for each size.
{
    echo "size,version,median_ms,low_ms,high_ms,runs,gbytes_per_s,tflops,outcome,copy_gbytes_per_s,cublas_tflops,gpu,driver,cuda,date"
    echo "B = 4; N = 4096; d = 64,64x64x4x1x2,1,1,1,9,1,200.1,verified,1,2,none,none,none,none"
    echo "B = 4; N = 4096; d = 64,128x64x8x1x1,1,1,1,9,1,230.1,verified,1,2,none,none,none,none"
    echo "B = 4; N = 4096; d = 64; causal,64x64x4x1x2,1,1,1,9,1,180.1,verified,1,2,none,none,none,none"
    echo "B = 4; N = 4096; d = 64; causal,128x64x8x1x1,1,1,1,9,1,220.1,spills registers,1,2,none,none,none,none"
} >"$out/tiles.csv"
awk -f grader/make/tune_table.awk "$out/tiles.csv" >"$out/tiles"
expect "tune: the slower one" grep -q '^64 64 4 1 2  *200\.1  *180\.1\*$' "$out/tiles"
expect "tune: the faster one, which spills once" grep -q '^128 64 8 1 1  *230\.1\*  *spills *$' "$out/tiles"
expect "tune: no GPU, no figures, no failure" sh -c \
    "PATH=/usr/bin:/bin make -s tune LESSON=14 | grep -q 'no GPU with nvcc here'"
expect "tune: a lesson without tiles" sh -c \
    "make -s tune LESSON=02 2>&1 | grep -q 'has no tiles to choose from'"
finish
