#!/bin/sh
# shellcheck disable=SC2086  # $flags is a list of words
# Tests of the CPU device: sh run.sh BUILD_DIR
# BUILD_DIR holds cpu/rewrite and libcpu.a. One line per test; the exit status is 1 if any failed.
set -u
build=${1:?usage: run.sh BUILD_DIR}
here=$(cd "$(dirname "$0")" && pwd) || exit 1
build=$(cd "$build" && pwd) || exit 1
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
trap 'exit 1' INT TERM
cxx=${CXX:-g++}
export LC_ALL=C  # the compiler's messages in English
failed=0

# result NAME STATUS: prints the line of one test, and its output if it failed
result() {
    if [ "$2" -eq 0 ]; then
        echo "ok      $1"
    else
        echo "FAILED  $1"
        sed 's/^/        /' "$work/log" | head -40
        failed=1
    fi
}

# compile NAME: test/NAME.cu -> $work/NAME, warnings are failures
compile() {
    "$build/cpu/rewrite" "$here/$1.cu" "$work/$1.cpp" "$1.cu" &&
        with_headers "$cxx" $flags -Werror -c "$work/$1.cpp" -o "$work/$1.o" &&
        "$cxx" -no-pie "$work/$1.o" "$build/libcpu.a" -lpthread -lm -o "$work/$1"
}
flags=$(cat "$here/../cxxflags")
with_headers() { # with_headers COMPILER...
    "$@" "-I$here/../include" "-I$here/../../../lessons" "-I$here"
}

# programs: name = status of the compile, in $work/name.compiled
compile_all() {
    for name in "$@"; do
        compile "$name" > "$work/$name.log" 2>&1
        echo $? > "$work/$name.compiled"
    done
}
compile_all language threads &
compile_all api cards numbers diagnoses instructions hopper eight_bits
wait

compiled() {
    cp "$work/$1.log" "$work/log"
    [ "$(cat "$work/$1.compiled")" -eq 0 ]
}

# ---- right programs, also with one worker and with more workers than cores ----
for name in language threads api numbers instructions hopper eight_bits; do
    for workers in 1 3; do
        compiled "$name" && CUDEV_WORKERS=$workers timeout 60 "$work/$name" > "$work/log" 2>&1
        result "$name, $workers worker(s)" $?
    done
done

# posing as a card: its id, and how many KB of shared memory a block may have
for card in h200:227 h100-1g:227 a100:163 rtx3090:99 rtx5090:99; do
    compiled cards && CUDEV_CARD=${card%:*} timeout 20 "$work/cards" "${card#*:}" > "$work/log" 2>&1
    result "cards, ${card%:*}" $?
done
compiled cards && CUDEV_CARD=rtx3090 CUDEV_FIRST_CARD=h100 timeout 20 "$work/cards" 99 227 > "$work/log" 2>&1
result "cards, rtx3090 after h100" $?
compiled cards && ! CUDEV_CARD=gtx480 timeout 20 "$work/cards" 48 > "$work/log" 2>&1 &&
    grep -q 'CUDEV_CARD names a card that the CPU device does not know' "$work/log"
result "cards, one that does not exist" $?

compiled hopper
CUDEV_CARD=a100 timeout 20 "$work/hopper" refused > "$work/log" 2>&1
[ $? -eq 86 ] && grep -q 'is an instruction of Hopper GPUs (compute capability 9.0), and this is an NVIDIA A100' "$work/log"
result "Hopper's instructions, a100" $?

# as in the grader's sandbox: little data, few processes
compiled threads && (
    # shellcheck disable=SC3045  # dash and bash have it
    ulimit -d 2097152
    timeout 60 "$work/threads" > "$work/log" 2>&1
)
result "threads, data limited to 2 GiB" $?

# ---- diagnoses ----
# diagnosis NAME KIND EXIT TEXT: the case ends with this kind, exit code and text (@marks resolved)
diagnosis() {
    [ -f "$work/$1.report" ] || {
        CUDEV_WORKERS=1 CUDEV_TIMEOUT=0.2 timeout 20 "$work/diagnoses" "$1" > "$work/$1.out" 2> "$work/$1.report"
        echo $? > "$work/$1.exit"
    }
    cp "$work/$1.report" "$work/log"
    [ "$(cat "$work/$1.exit")" -eq "$3" ] || return 1
    grep -qxF "hook: $2, ok" "$work/log" && cat "$work/$1.out" "$work/log" | grep -qF -- "$4"
}
compiled diagnoses
result "diagnoses compile" $?
sed -n 's|.*// @\([a-z_]*\)$|\1|p' "$here/diagnoses.cu" | while read -r mark; do
    line=$(grep -n "// @$mark\$" "$here/diagnoses.cu" | cut -d: -f1)
    echo "s|@$mark\\>|diagnoses.cu:$line|g"
done > "$work/marks"
sed -n 's|^// CASE ||p' "$here/diagnoses.cu" | sed -f "$work/marks" > "$work/cases"
while read -r name kind code text; do
    diagnosis "$name" "$kind" "$code" "$text"
    result "$name: $text" $?
done < "$work/cases"

# ---- messages of the compiler and the rewriter ----
"$build/cpu/rewrite" "$here/mistakes.cu" "$work/mistakes.cpp" mistakes.cu
"$cxx" $flags "-I$here/../include" -fsyntax-only "$work/mistakes.cpp" > "$work/log" 2>&1
sed -n 's/^mistakes.cu:\([0-9]*\):.*error:.*/\1/p' "$work/log" | sort -u > "$work/lines"
grep -n 'ERROR: ' "$here/mistakes.cu" | sed 's|:.*// ERROR: | |' | grep '^[0-9]' > "$work/wanted"
while read -r line text; do
    grep "^mistakes.cu:$line:" "$work/log" | grep -qF -- "$text"
    result "mistakes.cu:$line: $text" $?
done < "$work/wanted"
cut -d' ' -f1 "$work/wanted" | sort -u > "$work/wanted_lines"
comm -23 "$work/lines" "$work/wanted_lines" > "$work/log"
[ ! -s "$work/log" ]
result "mistakes.cu: no other line has an error" $?

for file in "$here"/malformed/*.cu; do
    name=$(basename "$file")
    want=$(grep -n 'ERROR: ' "$file" | sed 's|:.*// ERROR: |: error: |')
    "$build/cpu/rewrite" "$file" "$work/out.cpp" "$name" > "$work/log" 2>&1
    [ $? -eq 1 ] && grep "^$name:${want%%:*}:[1-9][0-9]*: error: " "$work/log" | grep -qF -- "${want#*error: }" &&
        grep -q '^      | *^' "$work/log"
    result "malformed/$name: ${want#*error: }" $?
done

# An editor's saving, of a file that says so in no comment.
saved() {
    "$build/cpu/rewrite" "$work/saved.cu" "$work/out.cpp" saved.cu > "$work/log" 2>&1
    [ $? -eq 1 ] && grep -qF "saved.cu:1: error: $1" "$work/log"
    result "saved: $1" $?
}
printf '\377\376i\0n\0t\0 \0x\0;\0\n\0' > "$work/saved.cu"
saved "this text is in UTF-16"
printf '\376\377\0i\0n\0t\0 \0x\0;\0\n' > "$work/saved.cu"
saved "this text is in UTF-16"
printf 'int x;\0\n' > "$work/saved.cu"
saved "this is not a text file"
printf '// a comment\rint x;\r' > "$work/saved.cu"
saved "lines end with a carriage return alone"

# A missing __shared__: one thread sets a part of an array of its own. The counter of another loop
# may have the name of a thread's index.
own_array() { # own_array WARNINGS FIRST
    printf '__global__ void k(float* y) {\n    float x[2];\n    for (int e = %s; e < 2; e++) x[e] = 1;\n' "$2" > "$work/own.cu"
    printf '    __syncthreads();\n    for (int e = threadIdx.x; e < 2; e += 32) y[e] = x[1];\n}\n' >> "$work/own.cu"
    "$build/cpu/rewrite" "$work/own.cu" "$work/out.cpp" own.cu > "$work/log" 2>&1
    [ "$(grep -c 'is __shared__ missing in front' "$work/log")" -eq "$1" ]
    result "own.cu, set from $2 on: $1 warning(s)" $?
}
own_array 0 0
own_array 1 threadIdx.x

# ---- each function of CUDA's runtime and mathematics is here, or refused with what to use ----
printf '#include <cuda_fp16.h>\n#include <cuda_bf16.h>\n' > "$work/all.cpp"
with_headers "$cxx" $flags -dD -E "$work/all.cpp" 2> "$work/log" | tr -cs 'A-Za-z0-9_' '\n' | sort -u > "$work/words"
tr ' ' '\n' < "$here/names.txt" | sort -u | comm -23 - "$work/words" > "$work/others"
while read -r name; do
    echo "void f() { $name(); }" > "$work/other.cu"
    said=$("$build/cpu/rewrite" "$work/other.cu" "$work/out.cpp" other.cu 2>&1)
    case $said in
    'other.cu:1:'*': error: not on the CPU device: '*', use '*) ;;
    *) echo "$name: $said" >> "$work/log" ;;
    esac
done < "$work/others"
[ -s "$work/words" ] && [ ! -s "$work/log" ]
result "no function of CUDA is unknown ($(wc -l < "$work/others") are refused)" $?

# ---- the functions of ptx.h, as a GPU has them ----
sh "$here/hardware/instructions.sh" check "$build" || failed=1

# ---- the watchers ----
sh "$here/watch/run.sh" "$build" || failed=1

# ---- files that are not graded, and the device on its own ----
sh "$here/any/run.sh" "$build" || failed=1
sh "$here/install.sh" "$build" || failed=1

# ---- predictions beside measurements ----
sh "$here/hardware/proof.sh" check "$build" || failed=1

exit $failed
