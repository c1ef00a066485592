#!/bin/sh
# trace.sh: what `make trace LESSON=12` does: runs the kernel that the lesson's patch names (FILE=,
# FROM=: another file) on the CPU device over a few keys and prints, as JSON, what it holds after
# every tile. The kernel is that file and the lines that grader/NN_name/trace.patch adds to it.
# Your own code: no sandbox.
# usage: trace.sh LESSON
lesson=$1
. grader/make/file.sh
patch=grader/$lesson/trace.patch
[ -e "$patch" ] || {
    echo "Lesson $lesson has no trace. These have: $(for p in grader/*/trace.patch; do
        echo "$p" | cut -d/ -f2; done | paste -sd ' ')" >&2
    exit 2
}
# Where the solution is on tensor cores (19), the patch is about a step.
traced=$(sed -n "s/^--- //p" "$patch")
[ -n "$FROM$FILE" ] || [ ! -d solutions ] || FILE=$traced
file=$(file_of "$lesson")
[ -f "$file" ] || {
    echo "$file does not exist." >&2
    exit 2
}
out=$(mktemp -d) || exit 2
trap 'rm -rf "$out"' EXIT
trap 'exit 130' INT TERM
patch -s -r - -o "$out/traced.cu" "$file" "$patch" >"$out/said" 2>&1 || {
    echo "$file cannot be traced: the lines of $patch do not fit between its own." >&2
    echo "The trace needs what is given in the exercise: BLOCK_K, the last barrier of the loop, the launcher." >&2
    exit 1
}
"$build/cpu/rewrite" "$out/traced.cu" "$out/traced.cpp" "$file (traced)" || exit 1
# It runs for a millisecond: compiled in a third of the time that optimising takes.
# shellcheck disable=SC2046  # the flags are words
g++ $(cat grader/cpu/cxxflags) -O0 -Igrader -Ilessons "-Ilessons/$lesson" -Igrader/cpu/include \
    -c "$out/traced.cpp" -o "$out/traced.o" 2>"$out/said" || {
    grep ' error: ' "$out/said" | head -n 3 >&2
    echo "$file does not compile with the lines of $patch: they read first_key, S_smem, m, l, alpha" >&2
    case $traced in
    */steps/*)
        echo "and O_reg. The exercise has none of these, and its tiles are too large to be read: what is traced" >&2
        echo "is a step, $traced, and kernels of its design." >&2
        ;;
    *) echo "and O_reg, so the gaps have to be filled, with these names." >&2 ;;
    esac
    exit 1
}
g++ -no-pie "$out/traced.o" "$build/grader/$lesson/trace.o" "$build/grader/$lesson/call-cpu.o" \
    "$build/grader/trace/main.o" "$build/libgrader.a" "$build/libcpu.a" -ljansson -lpthread -lm -o "$out/program" || exit 1
"$out/program" "$lesson" "$file" || {
    status=$?
    echo "$file did not come to the end of its trace: make grade LESSON=${lesson%%_*} says more." >&2
    exit $status
}
