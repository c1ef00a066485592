#!/bin/sh
# Builds and runs the benchmark of the CPU device: sh run.sh BUILD_DIR
# First plain, with one worker and with all; then instrumented, with the watchers off and on (where
# the column of the C loop means nothing: it is instrumented as well).
# BUILD_DIR holds cpu/rewrite and libcpu.a.
# shellcheck disable=SC2046  # cxxflags is a list of words
set -eu
build=${1:?usage: run.sh BUILD_DIR}
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trap 'exit 1' INT TERM
"$build/cpu/rewrite" "$here/bench.cu" "$work/bench.cpp" bench.cu
"${CXX:-g++}" $(cat "$here/../cxxflags") "-I$here/../include" -c "$work/bench.cpp" -o "$work/bench.o"
"${CXX:-g++}" -no-pie "$work/bench.o" "$build/libcpu.a" -lpthread -lm -o "$work/bench"
CUDEV_WORKERS=1 "$work/bench"
"$work/bench"
"${CXX:-g++}" $(cat "$here/../cxxflags-watched") "-I$here/../include" -c "$work/bench.cpp" \
    -o "$work/watched.o"
"${CXX:-g++}" -no-pie "$work/watched.o" "$build/libcpu.a" -lpthread -lm -o "$work/watched"
for mode in '' check profile check,profile; do
    echo "CUDEV_WATCH=$mode"
    CUDEV_WORKERS=1 CUDEV_WATCH=$mode "$work/watched"
done
