#!/bin/sh
# test.sh: what lesson 23 says of its kernels is what was recorded: recorded.h is made of the
# tables; what the CPU device counts of the kernels as they are given is what Nsight Compute
# counted; and all six, as given and cured, are right. usage: test.sh
. grader/test/tell.sh
. grader/make/save.sh
expect "23: recorded.h is what the tables say" sh grader/23_profiling/record/record.sh check

given=solutions/23_profiling/steps/1_read_only.cu

# Of the file as it is given no counter is told: it would be the answer.
mkdir -p build/test
stub 23_profiling >build/test/23_given.cu
"$build/grader/23_profiling/check" build/test/23_given.cu --format verdict --device cpu --seed 1 >build/test/23_given
expect "23: as it is given, nothing but an answer is missing" grep -q '^0 100 0 not_answered ' build/test/23_given

# Two quotients that do not depend on sizes: sectors a global load request, and the share of bank
# conflicts in the wavefronts of shared memory.
recorded() { # recorded COLUMN
    awk -F, -v k="$1" '
        $1 == "Memory Tables: sectors a global load request" { sectors = $k }
        $1 == "Memory Tables: shared wavefronts (million)" { wavefronts = $k }
        $1 == "Memory Tables: of them bank conflicts (million)" { conflicts = $k }
        END { print sectors, wavefronts ? conflicts / wavefronts : 0 }' plots/data/nvidia-h200/23_profiling.counters.csv
}
counted() { # counted KERNEL
    "$build/grader/23_profiling/check" profile "$given" --format csv \
        --case "$1: its" --seed 1 | awk -F, '
        $4 == "" { sum[$8] += $9 }
        END {
            at = "_pipe_lsu_mem_global_op_ld.sum"
            for (kind = 0; kind < 2; kind++) {
                op = kind ? "ld" : "st"
                wavefronts += sum["smsp__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_" op ".sum"]
                conflicts += sum["l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_" op ".sum"]
            }
            print sum["l1tex__t_sectors" at] / sum["l1tex__t_requests" at], wavefronts ? conflicts / wavefronts : 0
        }'
}
# alike: the two lines of stdin differ by 2 % at most
alike() {
    awk '{ a[NR] = $1; b[NR] = $2; print }
        function near(x, y) { return x - y <= 0.02 * y && y - x <= 0.02 * y }
        END { exit !(NR == 2 && a[1] > 0 && near(a[1], a[2]) && near(b[1], b[2])) }'
}
column=2
for kernel in scores decay filter; do
    { recorded $column && counted $kernel; } >"build/test/23_$kernel"
    expect "23: $kernel: the CPU device counts what Nsight Compute counted" alike <"build/test/23_$kernel"
    column=$((column + 1))
done

# The program that is recorded on a GPU, at small sizes on the CPU device.
record=grader/23_profiling/record out=build/test/23_record
right() { # right NAME SOURCE...
    name=$1
    shift
    mkdir -p $out && rm -f $out/"$name".*.o
    for source in $record/record.cu "$@"; do
        object=$out/$name.$(basename "$source" .cu)
        # shellcheck disable=SC2046  # cxxflags is a list of words
        "$build/cpu/rewrite" "$source" "$object.cpp" "$source" &&
            "${CXX:-g++}" $(cat grader/cpu/cxxflags-watched) -Igrader/cpu/include -Ilessons \
                -Ilessons/23_profiling -I$record -c "$object.cpp" -o "$object.o" || return 1
    done
    "${CXX:-g++}" -no-pie $out/"$name".*.o "$build/libcpu.a" -lpthread -lm -o "$out/$name" &&
        CUDEV_WATCH=check "$out/$name" check >"$out/$name.said" 2>&1 || { cat "$out/$name.said"; return 1; }
    [ "$(grep -c 'outputs are right' "$out/$name.said")" = 6 ] && [ "$(wc -l <"$out/$name.said")" = 6 ]
}
expect "23: the six kernels are right as they are given" right given $record/before.cu "$given"
expect "23: and cured" right cured solutions/23_profiling/read/after.cu solutions/23_profiling/profiling.cu
finish
