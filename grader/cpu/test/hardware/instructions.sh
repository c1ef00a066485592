#!/bin/sh
# shellcheck disable=SC2046  # cxxflags is a list of words
# instructions.sh: the functions of ptx.h and of CUDA's mathematics on the CPU device against those
# of a GPU, word by word.
#
#   instructions.sh measure [DIR [NAME]]   needs a Hopper GPU, nvcc, g++ and make, nothing else:
#                             builds what is missing in build/, runs instructions.cu, hopper.cu and
#                             functions.cu (or NAME.cu alone) on both, prints a line per function,
#                             writes a table of the same name each into DIR (where this script lies)
#   instructions.sh check BUILD   what `make test` runs: the CPU device gives, where the mathematics
#                             is exact, the words that the GPU of the tables gave
# BUILD holds cpu/rewrite and libcpu.a. Runs from anywhere.
set -u
here=$(cd "$(dirname "$0")" && pwd) || exit 2
root=$(cd "$here/../../../.." && pwd) || exit 2
export LC_ALL=C
usage='usage: instructions.sh measure [DIR [NAME]] | check BUILD'
mode=${1:?$usage} build=$root/build
work=$(mktemp -d) || exit 2
trap 'rm -rf "$work"' EXIT
trap 'exit 1' INT TERM

# run_cpu NAME: the program for the CPU device; runs it, its lines to $work/NAME-cpu.csv, its words
# to $work/NAME.words. Optimised less: the compiler is faster, the words are the same.
run_cpu() {
    "$build/cpu/rewrite" "$here/$1.cu" "$work/$1.cpp" "$1.cu" &&
        "${CXX:-g++}" $(cat "$root/grader/cpu/cxxflags") -O1 "-I$root/grader/cpu/include" \
            "-I$root/lessons" "-I$here" -c "$work/$1.cpp" -o "$work/$1.o" &&
        "${CXX:-g++}" -no-pie "$work/$1.o" "$build/libcpu.a" -lpthread -lm -o "$work/$1" &&
        "$work/$1" write "$work/$1.words" > "$work/$1-cpu.csv"
}

# measure NAME: the same for the GPU; compares, writes the table to $tables/NAME.csv
measure() {
    run_cpu "$1" || exit 1
    set -- "$1" -gencode arch=compute_90a,code=sm_90a
    [ "$1" = hopper ] || set -- "$@" -gencode "arch=compute_80,code=[sm_80,compute_80]"
    name=$1
    shift
    "$nvcc" -std=c++17 -O3 "$@" "-I$root/lessons" "$here/$name.cu" -o "$work/$name-gpu" || exit 1
    set -- "$name"
    "$work/$1-gpu" compare "$work/$1.words" > "$work/$1-gpu.csv" 2> "$work/said"
    status=$?
    cat "$work/said"
    awk -F, '{
        if ($4) printf "FAILED  %s: %d of %d words differ\n", $1, $4, $3
        else printf "ok      %s: %d words, %s\n", $1, $3,
            $2 == "exact" ? "all the same" : "at most " $5 " apart"
    }' "$work/$1-gpu.csv"
    {
        echo 'function,compared,words,differ,apart,hash,gpu,driver,cuda,date'
        sed "s/\$/,$machine/" "$work/$1-gpu.csv"
    } > "$tables/$1.csv"
    return $status
}

# check NAME TEXT: the words that the CPU device gives are those of the table
check() {
    if ! run_cpu "$1" > "$work/log" 2>&1; then
        echo "FAILED  hardware/$1"
        sed 's/^/        /' "$work/log"
        return 1
    fi
    if [ ! -e "$here/$1.csv" ]; then
        echo "ok      hardware/$1: $2 do what the definition says; no GPU was asked yet"
    elif awk -F, '
        FNR == NR { if (FNR > 1) { hash[$1] = $6; wrong[$1] = $4 } next }
        !($1 in hash) { print $1 ": is not in the table: measure again"; bad = 1; next }
        wrong[$1] { print $1 ": differs from the GPU in " wrong[$1] " words"; bad = 1 }
        $2 == "exact" && $6 != hash[$1] { print $1 ": other words than the GPU gave"; bad = 1 }
        { seen[$1] = 1 }
        END {
            for (name in hash)
                if (!(name in seen)) { print name ": is in the table only"; bad = 1 }
            exit bad
        }' "$here/$1.csv" "$work/$1-cpu.csv" > "$work/log" 2>&1; then
        echo "ok      hardware/$1: $2 give what the GPU gave"
    else
        echo "FAILED  hardware/$1"
        sed 's/^/        /' "$work/log"
        return 1
    fi
}

case $mode in
measure)
    tables=${2:-$here}
    nvcc=$(command -v nvcc || echo /usr/local/cuda/bin/nvcc)
    # another compiler than ours may warn of more
    (cd "$root" && make -s STRICT='-std=c11 -D_GNU_SOURCE' build/cpu/rewrite build/libcpu.a) || exit 1
    card=$(nvidia-smi --query-gpu=name,driver_version --format=csv,noheader | head -n 1 | sed 's/, */,/')
    version=$("$nvcc" --version | sed -n 's/.*release \([0-9.]*\),.*/\1/p')
    machine=$card,$version,$(date -u +%Y-%m-%d)
    failed=0
    for name in ${3:-instructions hopper functions}; do
        measure "$name" || failed=1
    done
    exit $failed
    ;;
check)
    build=${2:?$usage} failed=0
    check instructions "the functions of ptx.h" || failed=1
    check hopper "the functions of hopper.h" || failed=1
    check functions "CUDA's mathematics" || failed=1
    exit $failed
    ;;
*)
    echo "$usage" >&2
    exit 2
    ;;
esac
