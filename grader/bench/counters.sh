#!/bin/sh
# counters.sh: takes what Nsight Compute counts of a lesson's versions and peers for its text, on a
# GPU with nvcc, ncu and, for peers, a Python with PyTorch, into plots/data/GPU/LESSON.counters.csv.
# The list of counts is grader/LESSON/counters.txt; with a second word, steps, it is
# grader/LESSON/steps.txt: what the steps on the way change, into LESSON.steps.csv. The clock is
# left alone, as in make bench.
# usage: sh grader/bench/counters.sh 14_flash_tensor_core [steps]
#        with PYTHON (python3) in the environment
. grader/make/gpu.sh
lesson=$1 kind=${2:-counters}
list=grader/$lesson/$kind.txt
[ -e "$list" ] || {
    echo "There is no $list: nothing is counted of lesson $lesson." >&2
    exit 2
}
find_gpu || {
    echo "Counters are taken on a GPU, with nvcc and ncu." >&2
    exit 2
}
ncu=$(command -v ncu || echo /usr/local/cuda/bin/ncu)
out=build/counters/$lesson.$kind
csv=plots/data/$gpu/$lesson.$kind.csv
rm -rf "$out"
mkdir -p "$out" "plots/data/$gpu"
program=build/grader/$lesson/bench

# file_of_version NAME: a step, or the solution; of a peer nothing
file_of_version() {
    if [ "$1" = solution ]; then
        echo "solutions/$lesson/${lesson#*_}.cu"
    elif [ -e "solutions/$lesson/steps/$1.cu" ]; then
        echo "solutions/$lesson/steps/$1.cu"
    fi
}
names=$(sed -n 's/^version \([^ ]*\) .*/\1/p' "$list")
targets=$program
for name in $names; do
    file=$(file_of_version "$name")
    if [ -n "$file" ]; then
        turn library "$lesson" "$file" "$out/$name"
    else
        targets="$program $program.so"
    fi
done
wait
# A peer is run beside the solution.
[ "$targets" = "$program" ] || library "$lesson" "$(file_of_version solution)" "$out/solution"
# shellcheck disable=SC2086  # words
make -s --no-print-directory $targets || exit 2
metrics=$(awk -F ' *[|] *' '/[|]/ && !/^#/ { print $2 }' "$list" | paste -sd,)

# run NAME COMMAND...: runs this version by the bench, with its data and its checks
run() {
    version=$1
    shift
    if [ -n "$(file_of_version "$version")" ]; then
        "$@" "$program" "$out/bench.csv" 2 "step:$version=$out/$version.so"
    else
        "$@" "${PYTHON:-python3}" grader/bench/peers.py "$lesson" "$program.so" "$out/bench.csv" 2 \
            "solution:solution=$out/solution.so"
    fi
}
# The first launch of each version's kernel.
BENCH_ONLY=$(sed -n 's/^size //p' "$list")
export BENCH_ONLY
grep '^version ' "$list" | while read -r _ name kernel; do
    echo "ncu: $name: $kernel"
    run "$name" timeout 300 "$ncu" --clock-control none --csv --page raw --print-units base \
        --kernel-name-base demangled --kernel-name "regex:$kernel" --launch-count 1 --metrics "$metrics" \
        --log-file "$out/$name.csv" >"$out/$name.log" 2>&1
    # The head names the columns, the units follow, then the launch.
    grep '^"' "$out/$name.csv" >"$out/$name.rows"
    [ "$(wc -l <"$out/$name.rows")" -ge 3 ] || {
        echo "ncu counted nothing of $kernel; see $out/$name.csv and $out/$name.log" >&2
        exit 1
    }
done || exit 1

cuda=$("$nvcc" --version | sed -n 's/.*release \([0-9.]*\),.*/\1/p')
machine=$(nvidia-smi --query-gpu=name --format=csv,noheader | head -n 1),$BENCH_DRIVER,$cuda,$(date +%F)
# shellcheck disable=SC2086  # a name is a word
set -- $names
{
    echo "counter,$(echo "$names" | paste -sd,),gpu,driver,cuda,date"
    for name; do awk -v name="$name" '{ print name "," $0 }' "$out/$name.rows"; done |
        awk -v machine="$machine" -v names="$names" '
        NR == FNR {
            n = split($0, f, /","|,"|"$/)
            if (f[1] != version) { version = f[1]; rows = 0 }
            if (++rows == 1) for (c = 2; c <= n; c++) at[version, f[c]] = c
            if (rows == 3) for (c = 2; c <= n; c++) value[version, c] = f[c]
            next
        }
        /[|]/ && !/^#/ {
            split($0, f, / *[|] */)
            line = f[1]
            count = split(names, name, "\n")
            for (v = 1; v <= count; v++) {
                x = value[name[v], at[name[v], f[2]]]
                gsub(/,/, "", x)
                line = line "," (x == "" ? "-" : sprintf("%." f[4] "f", x * f[3]))
            }
            print line "," machine
        }' - "$list"
} >"$out/csv" && mv "$out/csv" "$csv" && echo "Recorded in $csv"
