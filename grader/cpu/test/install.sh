#!/bin/sh
# install.sh: the CPU device on its own: installed into a folder, used from outside the tree. usage:
# install.sh BUILD_DIR; a line per test, exit status 1 if any failed
set -u
build=${1:?usage: install.sh BUILD_DIR}
build=$(cd "$build" && pwd) || exit 1
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
trap 'exit 1' INT TERM
cd "$(dirname "$0")/../../.." || exit 1
prefix=$work/prefix
failed=0
export LC_ALL=C

result() { # result NAME STATUS
    if [ "$2" -eq 0 ]; then
        echo "ok      install: $1"
    else
        echo "FAILED  install: $1"
        sed 's/^/        /' "$work/log" | head -20
        failed=1
    fi
}

PATH=/usr/bin:/bin sh grader/make/install_cpu.sh "$build" "$prefix" >"$work/log" 2>&1 &&
    grep -q "^put $prefix/bin into PATH" "$work/log"
result "into a folder" $?
! sh grader/make/install_cpu.sh "$build" '' >"$work/log" 2>&1 && grep -q 'make install-cpu PREFIX=' "$work/log"
result "without a folder it says which is missing" $?

mkdir "$work/program with blanks" "$work/program with blanks/include" || exit 1
cd "$work/program with blanks" || exit 1
unset CUDEV_BUILD CUDEV_CACHE
cat >include/kernels.cuh <<'END'
#pragma once
template <class T> __global__ void sum(const T* in, T* out, int n) {
    __shared__ T part[64];
    T mine = 0;
    for (int i = threadIdx.x; i < n; i += blockDim.x) mine += in[i];
    part[threadIdx.x] = mine;
    for (int half = blockDim.x / 2; half > 0; half /= 2) {
#ifndef NO_BARRIER
        __syncthreads();
#endif
        if (threadIdx.x < half) part[threadIdx.x] += part[threadIdx.x + half];
    }
    if (threadIdx.x == 0) *out = part[0];
}
END
cat >sum.cu <<'END'
#include <cstdio>
#include <cstdlib>
#include <kernels.cuh>
int expected(int n);
int main(int argc, char** argv) {
    int n = argc > 1 ? atoi(argv[1]) : 10, *in, *out, got = 0;
    int* host = (int*)malloc(n * sizeof(int));
    for (int i = 0; i < n; i++) host[i] = i;
    cudaMalloc(&in, n * sizeof(int));
    cudaMalloc(&out, sizeof(int));
    cudaMemcpy(in, host, n * sizeof(int), cudaMemcpyHostToDevice);
    sum<<<1, 64>>>(in, out, n);
    cudaMemcpy(&got, out, sizeof(int), cudaMemcpyDeviceToHost);
    printf("%d %s\n", got, argc > 2 ? argv[2] : "");
    return got != expected(n);
}
END
cat >expected.cpp <<'END'
#include <cuda_runtime.h>
int expected(int n) {
    int devices = 0;
    return cudaGetDeviceCount(&devices) == cudaSuccess && devices == 1 ? n * (n - 1) / 2 : -1;
}
END
cudev=$prefix/bin/cudev
"$cudev" -O2 -arch=sm_80 -lineinfo -Iinclude sum.cu expected.cpp -o sum >"$work/log" 2>&1 &&
    ./sum 1000 >"$work/log" 2>&1 && grep -qx '499500 ' "$work/log"
result "cudev compiles a program outside the tree" $?
"$cudev" --run -Iinclude sum.cu expected.cpp -- 11 'two words' >"$work/log" 2>&1 &&
    grep -qx '55 two words' "$work/log" && [ ! -e a.out ]
result "cudev --run passes arguments on and leaves nothing" $?
"$cudev" --run --watch=check -Iinclude sum.cu expected.cpp >"$work/log" 2>&1 && ! grep -q FINDING "$work/log"
result "cudev --watch=check finds nothing in a right program" $?
"$cudev" --run --watch=check -DNO_BARRIER -I include sum.cu expected.cpp >"$work/log" 2>&1
grep -q 'FINDING: race on part' "$work/log" && grep -q 'kernels.cuh:11 in' "$work/log"
result "cudev --watch=check finds the race, with its line in the header" $?
"$cudev" --run --watch=check --error-exitcode=7 -DNO_BARRIER -I include sum.cu expected.cpp >"$work/log" 2>&1
[ $? -eq 7 ] && "$cudev" --run --watch=check --error-exitcode=7 -Iinclude sum.cu expected.cpp >>"$work/log" 2>&1 &&
    ! "$cudev" --run --error-exitcode=7 -Iinclude sum.cu expected.cpp >"$work/log" 2>&1 &&
    grep -qx 'cudev: --error-exitcode is for --run --watch=check' "$work/log"
result "cudev --error-exitcode tells a script what was found" $?
"$cudev" --run --watch=profile -Iinclude sum.cu expected.cpp >"$work/log" 2>&1 && grep -q 'kernels.cuh' "$work/log"
result "cudev --watch=profile prints the traffic" $?
# what pkg-config would say, where there is none
if command -v pkg-config >/dev/null; then
    flags=$(PKG_CONFIG_PATH=$prefix/lib/pkgconfig pkg-config --cflags cudev)
else
    flags="-fno-pie -DCUDEV_HOST -I$prefix/include/cudev"
fi
# shellcheck disable=SC2086  # words
g++ $flags -c expected.cpp -o expected.o >"$work/log" 2>&1 &&
    "$cudev" -Iinclude sum.cu expected.o -o sum_of_objects >>"$work/log" 2>&1 && ./sum_of_objects >>"$work/log" 2>&1
result "an object that was compiled with pkg-config's flags links" $?
printf '#include <curand.h>\nint main() {}\n' >other.cu
! "$cudev" other.cu >"$work/log" 2>&1 && grep -qx 'other.cu:1:1: error: not on the CPU device: cuRAND, use a generator of your own' "$work/log"
result "what is missing is refused by name" $?
printf 'int f();\nint main() { return f(); }\n' >undefined.cu
! "$cudev" undefined.cu >"$work/log" 2>&1 && grep -q "undefined reference to .f()'" "$work/log" && grep -q 'name the files that define these' "$work/log"
result "a function that is nowhere is named" $?
! "$cudev" --nonsense sum.cu >"$work/log" 2>&1 && grep -q 'the option --nonsense is not known' "$work/log"
result "an option that is not known is named" $?
! command -v groff >/dev/null || { groff -man -Tutf8 -ww "$prefix/share/man/man1/cudev.1" 2>&1 >"$work/page" | tee "$work/log" | grep -q . && false || grep -q 'watch=check' "$work/page"; }
result "the manual" $?
exit $failed
