#!/bin/sh
# counters.sh: takes what Nsight Compute counts of a lesson's versions and peers for its text, on a
# GPU with nvcc, ncu and a Python with PyTorch, into plots/data/GPU/LESSON.counters.csv. What is
# counted stands in grader/LESSON/counters.txt. The clock is left alone, as in make bench.
# usage: sh grader/bench/counters.sh 14_flash_tensor_core       with PYTHON (python3) in the environment
. grader/make/gpu.sh
lesson=$1
list=grader/$lesson/counters.txt
[ -e "$list" ] || {
    echo "There is no $list: nothing is counted of lesson $lesson." >&2
    exit 2
}
find_gpu || {
    echo "Counters are taken on a GPU, with nvcc and ncu." >&2
    exit 2
}
ncu=$(command -v ncu || echo /usr/local/cuda/bin/ncu)
out=build/counters/$lesson
csv=plots/data/$gpu/$lesson.counters.csv
rm -rf "$out"
mkdir -p "$out" "plots/data/$gpu"
program=build/grader/$lesson/bench.so
make -s --no-print-directory "$program" || exit 2
library "$lesson" "solutions/$lesson/${lesson#*_}.cu" "$out/solution"
[ -e "$out/solution.so" ] || exit 1
metrics=$(awk -F ' *[|] *' '/[|]/ && !/^#/ { print $2 }' "$list" | paste -sd,)

# The first launch of each version's kernel, by the bench itself, with its data and its checks.
grep '^version ' "$list" | while read -r _ name kernel; do
    echo "ncu: $kernel"
    BENCH_ONLY=$(sed -n 's/^size //p' "$list") timeout 300 "$ncu" --clock-control none --csv --page raw \
        --print-units base --kernel-name "regex:$kernel" --launch-count 1 --metrics "$metrics" \
        --log-file "$out/$name.csv" "${PYTHON:-python3}" grader/bench/peers.py "$lesson" "$program" \
        "$out/bench.csv" 2 "solution:solution=$out/solution.so" >"$out/$name.log" 2>&1
    # The head names the columns, the units follow, then the launch.
    grep '^"' "$out/$name.csv" >"$out/$name.rows"
    [ "$(wc -l <"$out/$name.rows")" -ge 3 ] || {
        echo "ncu counted nothing of $kernel; see $out/$name.csv and $out/$name.log" >&2
        exit 1
    }
done || exit 1

cuda=$("$nvcc" --version | sed -n 's/.*release \([0-9.]*\),.*/\1/p')
machine=$(nvidia-smi --query-gpu=name --format=csv,noheader | head -n 1),$BENCH_DRIVER,$cuda,$(date +%F)
names=$(sed -n 's/^version \([^ ]*\) .*/\1/p' "$list")
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
