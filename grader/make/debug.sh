#!/bin/sh
# debug.sh: what `make debug LESSON=12 CASE=...` does: an item is graded, and its case that failed,
# or the first one, runs under gdb on the CPU device, built without optimisation and watched as in a
# grade. What the kernel prints with printf is shown. Your own code: no sandbox. gdb runs it at once
# and stops at a diagnosis of the device, in the student's frame (debug.gdb).
# usage: debug.sh LESSON
lesson=$1
. grader/make/file.sh
need_kernel "$lesson" debug
file=$(file_of "$lesson")
[ -f "$file" ] || {
    echo "$file does not exist." >&2
    exit 2
}
out=build/gdb
mkdir -p "$out" || exit 2
"$build/cpu/rewrite" "$file" "$out/unit.cpp" "$file" || exit 1
# shellcheck disable=SC2046  # the flags are words
g++ $(cat grader/cpu/cxxflags-watched) -O0 -g -Ilessons "-Ilessons/$lesson" -Igrader/cpu/include \
    -c "$out/unit.cpp" -o "$out/unit.o" &&
    g++ -static -no-pie $(cat grader/run/wrapped) "$out/unit.o" \
        "$build/grader/$lesson/call-cpu.o" "$build/cpu/librun.a" "$build/libcpu.a" -lpthread -lm \
        -o "$out/program" || exit 1
DEBUG_SOURCE=$file
export DEBUG_SOURCE
set -- debug "$file" --device cpu --program "$out/program"
[ -n "$CASE" ] && set -- "$@" --case "$CASE"
[ -n "$CARD" ] && set -- "$@" --card "$CARD"
[ -n "$SEED" ] && set -- "$@" --seed "$SEED"
exec "$build/grader/$lesson/check" "$@"
