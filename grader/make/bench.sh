#!/bin/sh
# bench.sh: what `make bench LESSON=05` does: times every version of a lesson on the GPU, in one
# process and in turns, and records the figures in plots/data/GPU/LESSON.csv. Versions: the steps,
# the solution, yours as soon as it differs from the stub (or FILE=), the libraries'
# (grader/LESSON/peers/*.cu) and, where Python has PyTorch, its operations and Triton's kernels
# (grader/LESSON/peers.py). Your own times are yours: with them the record is
# build/bench/LESSON/yours.csv. Without a GPU it shows the recorded figures.
# usage: bench.sh LESSON...   with FILE, BUDGET (seconds for a lesson, 15), PYTHON (python3), BENCH_ONLY (a part of
#        the names of sizes) in the environment
. grader/make/gpu.sh
timed=
for lesson; do
    if [ -e "grader/$lesson/bench.c" ]; then
        timed="$timed $lesson"
    elif has_kernel "$lesson"; then
        echo "Lesson $lesson is not timed: its text says why."
    else
        echo "Lesson $lesson has no kernel: there is nothing to time."
    fi
done
[ -n "$timed" ] || exit 0
if ! find_gpu; then
    # shellcheck disable=SC2086  # words
    recorded csv $timed
    exit 0
fi
python=${PYTHON:-python3}

# files_of LESSON: the versions of a lesson in the order of the table, lines of FILE KIND NAME.
files_of() {
    for file in solutions/"$1"/steps/*.cu "$(solution "$1")" grader/"$1"/peers/*.cu; do
        [ -e "$file" ] || continue
        # A lesson for any card may have a peer for Hopper GPUs alone.
        case $file in */peers/*) [ "$compute" = 90a ] || ! grep -q '"hopper\.h"' "$file" || continue ;; esac
        name=$(basename "$file" .cu)
        case $file in
        */steps/*) echo "$file step $name" ;;
        */peers/*) echo "$file library $name" ;;
        *) echo "$file solution solution" ;;
        esac
    done
    mine=${FILE:-$(exercise "$1")}
    stub "$1" | cmp -s - "$mine" || echo "$mine yours yours"
}

compile() { # compile LESSON
    mkdir -p "build/bench/$1"
    files_of "$1" >"build/bench/$1/versions"
    while read -r file kind name; do
        turn library "$1" "$file" "build/bench/$1/$name"
    done <"build/bench/$1/versions"
}

# versions_of LESSON: KIND:NAME=LIBRARY each. Fails if one is missing: a table without it would
# mislead.
versions_of() {
    while read -r file kind name; do
        library=build/bench/$1/$name.so
        [ -e "$library" ] || [ "$kind" = yours ] || return
        [ ! -e "$library" ] || echo "$kind:$name=$library"
    done <"build/bench/$1/versions"
}

# program_of LESSON: what times it; a library where Python brings the peers.
program_of() {
    if [ -n "$torch" ] && [ -e "grader/$1/peers.py" ]; then
        echo "build/grader/$1/bench.so"
    else
        echo "build/grader/$1/bench"
    fi
}

# bench LESSON: times it and records the figures, unless a version is wrong, missing or does not
# load.
bench() {
    out=build/bench/$1
    mkdir -p "plots/data/$gpu"
    versions=$(versions_of "$1") || return 2
    csv=plots/data/$gpu/$1.csv
    case "$versions${BENCH_ONLY:+ yours:}" in *yours:*) csv=$out/yours.csv ;; esac
    echo "Lesson $1"
    case $(program_of "$1") in
    *.so) set -- "$python" grader/bench/peers.py "$1" "$(program_of "$1")" ;;
    *) set -- "$(program_of "$1")" ;;
    esac
    # shellcheck disable=SC2086  # one word each
    "$@" "$out/csv" "${BUDGET:-15}" $versions || return
    mv "$out/csv" "$csv" && printf '\nRecorded in %s\n\n' "$csv"
}

torch=$("$python" grader/bench/peers.py 2>&1) || {
    echo "$torch Without it there are no rows of PyTorch and Triton." >&2
    torch=
}
start=$(date +%s) status=0
echo "Compiling every version of$timed"
# shellcheck disable=SC2046  # one word each
make -s --no-print-directory -j"$(nproc)" $(for lesson in $timed; do program_of "$lesson"; done) || exit 2
for lesson in $timed; do
    compile "$lesson"
    case $(program_of "$lesson") in *.so) turn "$python" grader/bench/peers.py "$lesson" warm ;; esac
done
wait
echo "Compiled: $(($(date +%s) - start)) s"
for lesson in $timed; do bench "$lesson" || status=1; done
[ $# = 1 ] || echo "$(($(date +%s) - start)) s in all"
exit $status
