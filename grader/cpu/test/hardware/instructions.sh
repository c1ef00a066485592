#!/bin/sh
# shellcheck disable=SC2046  # cxxflags is a list of words
# instructions.sh: the functions of ptx.h on the CPU device against those of a GPU, word by word.
#
#   instructions.sh measure [TABLE]  needs a GPU, nvcc, g++ and make, nothing else: builds what is
#                             missing in build/, runs both, prints a line per function, writes TABLE
#                             (instructions.csv beside this script)
#   instructions.sh check BUILD   what `make test` runs: the CPU device gives, where the mathematics is
#                             exact, the words that the GPU of instructions.csv gave
# BUILD holds cpu/rewrite and libcpu.a. Runs from anywhere.
set -u
here=$(cd "$(dirname "$0")" && pwd) || exit 2
root=$(cd "$here/../../../.." && pwd) || exit 2
export LC_ALL=C
usage='usage: instructions.sh measure [TABLE] | check BUILD'
mode=${1:?$usage} build=$root/build table=$here/instructions.csv
work=$(mktemp -d) || exit 2
trap 'rm -rf "$work"' EXIT
trap 'exit 1' INT TERM

# The program for the CPU device; runs it, its lines to $work/cpu.csv, its words to $work/words.
run_cpu() {
    "$build/cpu/rewrite" "$here/instructions.cu" "$work/cpu.cpp" instructions.cu &&
        "${CXX:-g++}" $(cat "$root/grader/cpu/cxxflags") "-I$root/grader/cpu/include" \
            "-I$root/lessons" -c "$work/cpu.cpp" -o "$work/cpu.o" &&
        "${CXX:-g++}" -no-pie "$work/cpu.o" "$build/libcpu.a" -lpthread -lm -o "$work/cpu" &&
        "$work/cpu" write "$work/words" > "$work/cpu.csv"
}

case $mode in
measure)
    table=${2:-$table}
    nvcc=$(command -v nvcc || echo /usr/local/cuda/bin/nvcc)
    # another compiler than ours may warn of more
    (cd "$root" && make -s STRICT='-std=c11 -D_GNU_SOURCE' build/cpu/rewrite build/libcpu.a) || exit 1
    run_cpu || exit 1
    "$nvcc" -std=c++17 -O3 -gencode "arch=compute_80,code=[sm_80,compute_80]" \
        -gencode arch=compute_90a,code=sm_90a "-I$root/lessons" "$here/instructions.cu" -o "$work/gpu" || exit 1
    "$work/gpu" compare "$work/words" > "$work/gpu.csv" 2> "$work/said"
    status=$?
    cat "$work/said"
    awk -F, '{
        if ($4) printf "FAILED  %s: %d of %d words differ\n", $1, $4, $3
        else printf "ok      %s: %d words, %s\n", $1, $3,
            $2 == "exact" ? "all the same" : "at most " $5 " x 2^-23 apart"
    }' "$work/gpu.csv"
    card=$(nvidia-smi --query-gpu=name,driver_version --format=csv,noheader | head -n 1 | sed 's/, */,/')
    version=$("$nvcc" --version | sed -n 's/.*release \([0-9.]*\),.*/\1/p')
    {
        echo 'function,compared,words,differ,apart,hash,gpu,driver,cuda,date'
        sed "s/\$/,$card,$version,$(date -u +%Y-%m-%d)/" "$work/gpu.csv"
    } > "$table"
    exit $status
    ;;
check)
    build=${2:?$usage}
    if ! run_cpu > "$work/log" 2>&1; then
        echo "FAILED  hardware/instructions"
        sed 's/^/        /' "$work/log"
        exit 1
    fi
    if awk -F, '
        FNR == NR { if (FNR > 1) { hash[$1] = $6; wrong[$1] = $4 } next }
        !($1 in hash) { print $1 ": is not in instructions.csv: measure again"; bad = 1; next }
        wrong[$1] { print $1 ": differs from the GPU in " wrong[$1] " words"; bad = 1 }
        $2 == "exact" && $6 != hash[$1] { print $1 ": other words than the GPU gave"; bad = 1 }
        { seen[$1] = 1 }
        END {
            for (name in hash)
                if (!(name in seen)) { print name ": is in instructions.csv only"; bad = 1 }
            exit bad
        }' "$table" "$work/cpu.csv" > "$work/log" 2>&1; then
        echo "ok      hardware/instructions: the functions of ptx.h give what the GPU gave"
    else
        echo "FAILED  hardware/instructions"
        sed 's/^/        /' "$work/log"
        exit 1
    fi
    ;;
*)
    echo "$usage" >&2
    exit 2
    ;;
esac
