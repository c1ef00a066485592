#!/bin/sh
# bench.sh: the bench (grader/bench) tested on the CPU device: what is timed, what is called wrong,
# what is recorded, and the table made of it. usage: bench.sh
# shellcheck disable=SC2016,SC2046,SC2086  # lists of words; awk's own $
. grader/test/tell.sh
here=grader/bench/test
out=build/test/bench
rm -rf "$out"
mkdir -p "$out"
include="-Igrader -Ilessons -I$here -Igrader/cpu/include"
for unit in main timing arrays test/ceiling test/clocks test/bench test/peers; do
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
for program in main peers; do
    # *-bench.o are the same files, compiled by make bench
    g++ -no-pie -rdynamic "$out/$program.o" "$out"/[!mp]*.o $(find build/grader/base -name '*.o' ! -name '*-bench.o') -Wl,--whole-archive \
        build/libcpu.a -Wl,--no-whole-archive -lpthread -ldl -lm -o "$out/$program" || failed=1
done
versions=
for name in right first_element last_element forgets refuses leaves leaves_end once small_ones nearly sleeps; do
    compile $here/version.cu "$out/$name.so.o" -fPIC "-DMISTAKE=$(echo $name | tr '[:lower:]' '[:upper:]')" &&
        g++ -shared "$out/$name.so.o" -o "$out/$name.so" || failed=1
    versions="$versions step:$name=$out/$name.so"
done

BENCH_DRIVER=none "$out/main" "$out/bench.csv" 1 $versions >"$out/table" 2>"$out/said"
status=$?
row() { # row VERSION SIZE OUTCOME [RUNS]: is in the record, timed at least RUNS (7) times
    expect "bench: $1, size $2: $3" awk -F, -v v="$1" -v s="$2" -v o="$3" -v least="${4:-7}" \
        'NR == 1 { for (c = 1; c <= NF; c++) at[$c] = c }
         $1 == s && $2 == v { found = $at["outcome"] == o && (o != "verified" || $at["median_ms"] > 0 && $at["runs"] >= least) }
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
row right huge "out of memory"
row leaves 1000 "WRONG in a sample"
row leaves_end 1000 "WRONG: differs from the first version"
row once 1000 "WRONG in a timed run"
row small_ones 1000 "WRONG: differs from the first version"
row nearly 1000 verified
row sleeps 1000 "too slow: longer than 5 seconds"
row sleeps 4321 verified
expect "bench: clock and what limits it are noted" grep -q '^4321,right,step,.*,verified,1700,power,' "$out/bench.csv"
expect "bench: ... and in the table" sh -c \
    "awk -f grader/make/bench_table.awk '$out/bench.csv' | grep -q 'Clock at least 1700 MHz, limited by power'"
expect "bench: the table shows the share of the copy rate" \
    sh -c "awk -f grader/make/bench_table.awk '$out/bench.csv' | grep -q '^| 1000 | right | [0-9.]* | [0-9. ]* | [0-9]* | [0-9.]* |$'"
expect "bench: no GPU, no figures, no failure" sh -c \
    "PATH=/usr/bin:/bin make -s bench LESSON=02 | grep -q 'no GPU with nvcc here'"
"$out/main" "$out/bench.csv" 1 step:last_element="$out/last_element.so" solution:right="$out/right.so" >"$out/table" 2>"$out/said"
row last_element 1000 "WRONG: elements are NaN or not written"
row right 1000 verified

comma_is_refused() { ! "$out/main" - 1 "step:a,b=$out/right.so" >"$out/table" 2>&1 && grep -q 'no comma in a name' "$out/table"; }
expect "bench: a name that would break the record" comma_is_refused

# What peers.py adds to the bench: peers are checked as versions are, and refusals are results.
"$out/peers" "$out/bench.csv" 1 solution:version="$out/right.so" >"$out/table" 2>"$out/said"
status=$?
expect "peers: a wrong one makes it fail" [ "$status" = 1 ]
for size in 1000 4321; do
    row version $size verified
    row right $size verified
    row agreed $size verified
    row last_element $size "WRONG: differs from the first version"
    row nearly $size "WRONG in a sample"
    row not_ready $size "WRONG in a timed run"
    row no_memory $size "out of memory"
    row runs_out $size "out of memory"
    row not_offered $size "not offered"
done
expect "peers: kind, layout and software are recorded" grep -q '^1000,right,pytorch,.*,verified,1700,power,N,.*,none 1.0,' "$out/bench.csv"
"$out/peers" "$out/bench.csv" 0 solution:version="$out/right.so" >"$out/table" 2>"$out/said"
row right 4321 verified 3
row version 4321 verified 3
"$out/peers" "$out/bench.csv" 1 solution:version="$out/first_element.so" >"$out/table" 2>"$out/said"
row right 4321 "no version to compare with"


# What is printed of a record
columns=size,version,kind,median_ms,low_ms,high_ms,runs,gbytes_per_s,tflops,outcome,sm_mhz,limited_by,layout,copy_gbytes_per_s,cublas_tflops,gpu,driver,cuda,torch,date
{
    echo $columns
    echo "B = 1; N = 64,solution,solution,1,0.9,1.25,9,1,300.0,verified,,,,1,400,none,none,none,2.11,none"
    echo "B = 1; N = 64,flash,pytorch,1.5,1.4,1.75,9,1,200.0,verified,,,B N H d,1,400,none,none,none,2.11,none"
    echo "B = 1; N = 64,math,pytorch,,,,0,,,out of memory,,,,1,400,none,none,none,2.11,none"
} >"$out/peers.csv"
awk -f grader/make/bench_table.awk "$out/peers.csv" >"$out/table"
expect "table: the spread, the ceiling and the ratio to the first peer" \
    grep -q '^| B = 1; N = 64 | solution | 1.000 | 0.900 .. 1.250 | 300.0 | 0.75 | 1.50 |$' "$out/table"
expect "table: a peer and its layout" grep -q '^|  | flash (B N H d) | 1.500 | .* | 1.00 |$' "$out/table"
expect "table: what ran out of memory" grep -q '^|  | math | | | out of memory | | |$' "$out/table"
if command -v python3 >/dev/null; then
    for script in grader/bench/*.py grader/bench/test/*.py grader/*/peers.py; do
        expect "peers: $script is Python" python3 -c \
            'import sys; compile(open(sys.argv[1]).read(), sys.argv[1], "exec")' "$script"
    done
    expect "peers: no PyTorch, one sentence" sh -c \
        'python3 -I -S grader/bench/peers.py | grep -q "has no PyTorch .*PYTHON= names another"'
else
    tell skip "peers: the scripts" "there is no python3"
fi

# make tune: the fastest is marked, for each size; if it spills registers it has to be 2 % faster
# than those that do not, and tiles.h says so.
{
    echo $columns
    echo "B = 4; N = 4096; d = 64,64x64x4x1x2,tiles,1,1,1,9,1,200.1,verified,,,,1,2,none,none,none,,none"
    echo "B = 4; N = 4096; d = 64,128x64x8x1x1,tiles,1,1,1,9,1,230.1,verified,,,,1,2,none,none,none,,none"
    echo "B = 4; N = 4096; d = 64; causal,64x64x4x1x2,tiles,1,1,1,9,1,180.1,verified,,,,1,2,none,none,none,,none"
    echo "B = 4; N = 4096; d = 64; causal,128x64x8x1x1,tiles,1,1,1,9,1,181.1,verified; spills 8 bytes,,,,1,2,none,none,none,,none"
    echo "B = 4; N = 4096; d = 128,64x64x4x1x2,tiles,1,1,1,9,1,300.1,verified,,,,1,2,none,none,none,,none"
    echo "B = 4; N = 4096; d = 128,128x64x8x1x1,tiles,1,1,1,9,1,307.1,verified; spills 84 bytes,,,,1,2,none,none,none,,none"
    echo "B = 4; N = 4096; d = 128; causal,64x64x4x1x2,tiles,1,1,1,9,1,300.1,verified,,,,1,2,none,none,none,,none"
    echo "B = 4; N = 4096; d = 128; causal,128x64x8x1x1,tiles,1,1,1,9,1,400.1,WRONG in a sample,,,,1,2,none,none,none,,none"
} >"$out/tiles.csv"
awk -f grader/make/tune_table.awk "$out/tiles.csv" >"$out/tiles"
expect "tune: the slower one" grep -q '^64 64 4 1 2  *200\.1  *180\.1\*  *300\.1  *300\.1\*$' "$out/tiles"
expect "tune: the faster one, which spills twice" \
    grep -q '^128 64 8 1 1  *230\.1\*  *181\.1 s8  *307\.1 s84\*  *- *$' "$out/tiles"
awk -v edit=1 -f grader/make/tune_table.awk "$out/tiles.csv" >"$out/edit"
sed -f "$out/edit" lessons/14_flash_tensor_core/tiles.h >"$out/tiles.h"
expect "tune: what tiles.h says of it" \
    grep -qx '#define TILES_128 128, 64, 8, 1, 1  // spills 84 bytes' "$out/tiles.h"
expect "tune: nothing of what spills nothing" grep -qx '#define TILES_64_CAUSAL 64, 64, 4, 1, 2' "$out/tiles.h"
awk -v edit=1 -v limit=_99KB -f grader/make/tune_table.awk "$out/tiles.csv" >"$out/edit"
sed -f "$out/edit" lessons/14_flash_tensor_core/tiles.h >"$out/tiles.h"
expect "tune: a limit has lines of its own" \
    grep -qx '#define TILES_128_CAUSAL_99KB 64, 64, 4, 1, 2' "$out/tiles.h"
other_lines() { ! diff "$out/tiles.h" lessons/14_flash_tensor_core/tiles.h | grep '^[<>]' | grep -v KB; }
expect "tune: and leaves the others" other_lines
expect "tune: a limit without a line" sh -c \
    "make -s tune LESSON=16 SHARED=48 2>&1 | grep -q 'There are: TILES_128_99KB TILES_128_CAUSAL_99KB'"
expect "tune: no GPU, no figures, no failure" sh -c \
    "PATH=/usr/bin:/bin make -s tune LESSON=14 | grep -q 'no GPU with nvcc here'"
expect "tune: a lesson without tiles" sh -c \
    "make -s tune LESSON=02 2>&1 | grep -q 'has no tiles to choose from'"
expect "no size of a lesson has a comma in its name, which the record parts its columns by" sh -c \
    "! grep -nE '^    \\{\"[^\"]*,' grader/*/bench.c"
finish
