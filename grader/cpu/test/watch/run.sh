#!/bin/sh
# shellcheck disable=SC2086  # $flags is a list of words
# Tests of the watchers: sh run.sh BUILD_DIR [NAME]; prints a line per test, exit status 1 if any
# failed. SAMPLE="96 WORD" in the environment: one in four of the planted and clean programs, drawn
# by WORD.
#   planted/*.cu  one mistake each. The first line says what is found: kind and lines, nothing else may
#                 be; "// says: TEXT" lines must appear in the findings
#   clean/*.cu    tricky right programs: nothing is found
#   table.cu      the profile as text
#   counters.cu   exact counters, with 1 and 3 workers, -O1 and -O2
set -u
here=$(cd "$(dirname "$0")" && pwd) || exit 1
. "$here/../../../test/tell.sh"
build=${1:?usage: run.sh BUILD_DIR [NAME]}
only=${2:-}
build=$(cd "$build" && pwd) || exit 1
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
trap 'exit 1' INT TERM
cxx=${CXX:-g++}
export LC_ALL=C CUDEV_TIMEOUT=2
flags=$(cat "$here/../../cxxflags-watched")
with_headers() { # with_headers COMPILER...
    "$@" "-I$here/../../include" "-I$here/../../../../lessons" "-I$here"
}
mkdir -p "$build/test/planted" || exit 1
[ -n "$only" ] || rm -f "$build/test/planted"/*

# compile SOURCE: -> $work/NAME with the build's messages in $work/NAME.log
compile() {
    name=$(basename "$1" .cu)
    {
        "$build/cpu/rewrite" "$1" "$work/$name.cpp" "$name.cu" &&
            with_headers "$cxx" $flags -Werror -c "$work/$name.cpp" -o "$work/$name.o" &&
            "$cxx" -no-pie "$work/$name.o" "$build/libcpu.a" -lpthread -lm -o "$work/$name"
    } > "$work/$name.log" 2>&1
}

# found FILE: the findings in a program's stderr as "kind line line", sorted
found() {
    # not the lines in names of arrays
    sed -n -e 's/^==CPU device== FINDING: \(race\|order_of_sum\) on .*: \(.*\)/\1 \2/p' \
        -e 's/^==CPU device== FINDING: async_order on [^:]*: \(.*\)/async_order \1/p' \
        -e 's/^==CPU device== FINDING: \([a-z_]*\): \(.*\)/\1 \2/p' "$1" |
        sed 's/\(\.cu:[0-9]*\) of .*/\1/' | while read -r kind rest; do
        lines=$(printf '%s\n' "$rest" | grep -oE '(\.cu:|line )[0-9]+' | grep -oE '[0-9]+$' | sort -n | tr '\n' ' ')
        echo "$kind ${lines% }"
    done | sort
}

# one SOURCE: compiles, runs, compares; writes the line of the test to $work/NAME.result
one() {
    name=$(basename "$1" .cu)
    want=$(sed -n '1s|^// finds: ||p' "$1")
    ends=${want#*; ends with }
    [ "$ends" = "$want" ] && ends=
    printf '%s\n' "${want%%;*}" | tr ',' '\n' | sed 's/^ *//' | grep -v '^nothing$' | sort > "$work/$name.want"
    status=1
    if compile "$1"; then
        CUDEV_WATCH=check,profile timeout 60 "$work/$name" > "$work/$name.out" 2>&1
        code=$?
        found "$work/$name.out" > "$work/$name.found"
        if [ -n "$ends" ]; then
            grep -qF "ERROR: $ends" "$work/$name.out" && code=0
        fi
        cp "$work/$name.out" "$work/$name.log"
        if ! cmp -s "$work/$name.want" "$work/$name.found"; then
            echo "expected: $(tr '\n' ';' < "$work/$name.want")" >> "$work/$name.log"
            echo "found:    $(tr '\n' ';' < "$work/$name.found")" >> "$work/$name.log"
        elif [ "$code" -ne 0 ]; then
            echo "exit status $code" >> "$work/$name.log"
        elif ! sed -n 's|^// says: ||p' "$1" | while read -r text; do
            grep -qF -- "$text" "$work/$name.out" || { echo "not said: $text" >> "$work/$name.log"; exit 1; }
        done; then
            :
        else
            status=0
        fi
    fi
    # for ../hardware: which of the planted mistakes are found, and as what
    case $status$1 in
    0*/planted/*)
        {
            cut -d' ' -f1 "$work/$name.found"
            case $ends in
            "barrier divergence"*) echo barrier_divergence ;;
            deadlock*) echo deadlock ;;
            ?*) echo diagnosis ;;
            esac
        } | awk '!seen[$0]++' | paste -sd+ - > "$build/test/planted/$name"
        ;;
    esac
    label=watch/$(basename "$(dirname "$1")")/$name
    if [ $status -eq 0 ]; then
        echo "ok      $label" > "$work/$name.result"
    else
        { echo "FAILED  $label"; sed 's/^/        /' "$work/$name.log" | head -40; } > "$work/$name.result"
    fi
}

# two at a time
(cd "$here" && ls planted/*"$only"*.cu clean/*"$only"*.cu 2> /dev/null) | sample watch 24 > "$work/sources"
half() {
    i=0
    while read -r source; do
        source=$here/$source
        i=$((i + 1))
        [ $((i % 2)) -eq "$1" ] && one "$source" < /dev/null
    done < "$work/sources"
}
half 0 &
half 1
wait

# counters LEVEL: $work/counters with this optimisation, run with several workers
counters() {
    "$build/cpu/rewrite" "$here/counters.cu" "$work/counters$1.cpp" counters.cu &&
        with_headers "$cxx" $flags "$1" -Werror -c "$work/counters$1.cpp" -o "$work/counters$1.o" &&
        "$cxx" -no-pie "$work/counters$1.o" "$build/libcpu.a" -lpthread -lm -o "$work/counters$1" || return 1
    for workers in 1 3; do
        CUDEV_WORKERS=$workers CUDEV_WATCH=profile timeout 60 "$work/counters$1" || return 1
    done
    # as in the grader's sandbox: little data; and both watchers at once
    (
        # shellcheck disable=SC3045  # dash and bash have it
        ulimit -d 1048576
        CUDEV_WATCH=check,profile timeout 60 "$work/counters$1"
    )
}
if [ -z "$only" ] || [ "$only" = counters ]; then
    for level in -O1 -O2; do
        if counters $level > "$work/log" 2>&1 && ! grep -q FINDING "$work/log"; then
            echo "ok      watch/counters $level, 1 and 3 workers"
        else
            echo "FAILED  watch/counters $level"
            sed 's/^/        /' "$work/log" | head -40
        fi
    done > "$work/zz.result"
fi

# the profile as text
table() {
    compile "$here/table.cu" && CUDEV_WATCH=profile "$work/table" > "$work/table.out" &&
        diff "$here/table.expected" "$work/table.out" &&
        CUDEV_WATCH=profile "$work/table" csv > "$work/csv.out" &&
        grep -qxF '"transpose",1,table.cu:50,table.cu,15,"tile",4,l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_ld.sum,992' "$work/csv.out" &&
        grep -qxF '"strided",2,table.cu:51,,,,,l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum,144' "$work/csv.out" &&
        grep -qxF '"staged",1,table.cu:52,table.cu,29,"in",16,l1tex__t_requests_pipe_lsu_mem_global_op_ldgsts.sum,2' "$work/csv.out" &&
        grep -qxF '"staged",1,table.cu:52,,,,,smsp__sass_l1tex_data_bank_conflicts_pipe_lsu_mem_shared_op_ldgsts.sum,8' "$work/csv.out" &&
        grep -qxF '"tensor",1,table.cu:53,,,,,sm__inst_executed_pipe_tensor_op_hmma.sum,3' "$work/csv.out" &&
        grep -qxF '"tensor",1,table.cu:53,table.cu,42,"s",16,smsp__inst_executed_op_ldsm.sum,1' "$work/csv.out" &&
        "$work/table" 2>&1 | grep -q 'there is no profile'
}
if [ -z "$only" ] || [ "$only" = table ]; then
    if table > "$work/log" 2>&1; then
        echo "ok      watch/table"
    else
        echo "FAILED  watch/table"
        cat "$work/log" "$work/table.log" | sed 's/^/        /' | head -40
    fi > "$work/zzz.result"
fi
cat "$work"/*.result
! grep -q '^FAILED' "$work"/*.result
