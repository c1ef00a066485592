#!/bin/sh
# Builds and runs the benchmark of the CPU device: sh run.sh BUILD_DIR
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
