#!/bin/sh
# torch.sh: what `make torch LESSON=16` does: builds the lesson's kernel (FROM=, FILE=) and that of
# its partner, a forward pass for a backward pass and the other way round, as libraries that Python
# loads, and has PyTorch check them. The partner is the course's solution, so that what fails is the
# lesson's, where PARTNER= says nothing else and there are solutions.
# Libraries: build/torch/NN_name/{exercises,solutions,file}/cpu.so and, on a GPU, gpu.so. On a
# machine with nvcc and no GPU DEVICE=cuda compiles gpu.so all the same, for sm_80 and sm_90a.
# Your own code: no sandbox.
# usage: torch.sh LESSON            builds and checks
#        torch.sh build LESSON KEY  builds that of exercises/, of solutions/, or with another key FILE=
. grader/make/gpu.sh

# The environment of setup.sh --torch, if it was made.
python=${PYTHON:-build/torch/env/bin/python}
[ -n "${PYTHON:-}" ] || [ -x "$python" ] || python=python3
export PYTHONPYCACHEPREFIX=build/torch/pycache # what Python compiles is no file of the course

# source_of LESSON KEY: the kernel's file
source_of() {
    case $2 in
    exercises | solutions) echo "$2/$1/$(name_of "$1")" ;;
    *) echo "$FILE" ;;
    esac
}

# build_cpu LESSON FILE OUT: the library, and the program that it starts
build_cpu() {
    "$build/cpu/rewrite" "$2" "$3/kernel.cpp" "$2" || return
    # shellcheck disable=SC2046  # the flags are words
    g++ $(cat grader/cpu/cxxflags) -Ilessons "-Ilessons/$1" -Igrader/cpu/include \
        -c "$3/kernel.cpp" -o "$3/kernel.o" &&
        g++ -no-pie "$3/kernel.o" "$build/grader/$1/call-cpu.o" "$build/grader/library/program-cpu.o" \
            "$build/grader/library/arguments-cpu.o" "$build/libcpu.a" -lpthread -lm -o "$3/cpu" &&
        gcc -shared -Wl,-Bsymbolic "$build/grader/library/spawn-library.o" "$3/sizes.o" -ldl -o "$3/cpu.so"
}

# build_gpu LESSON FILE OUT: each function of gpu.c that begins with __wrap_ takes another one's
# place.
build_gpu() {
    cards=${compute:-80 90a} wrapped=$(sed -n 's/^[a-zA-Z_]* __wrap_\([A-Za-z0-9_]*\)(.*/\1/p' grader/library/gpu.c)
    ! grep -q '"hopper\.h"' "$2" || cards=90a
    flags=$(for card in $cards; do echo "-gencode arch=compute_$card,code=sm_$card"; done)
    # shellcheck disable=SC2046,SC2086  # one word each
    "$nvcc" -O3 -std=c++17 $flags -Ilessons "-Ilessons/$1" \
        -shared -Xcompiler -fPIC -Xlinker -Bsymbolic $(printf -- '-Xlinker --wrap=%s ' $wrapped) \
        "$2" "$build/grader/$1/call-library.o" "$build/grader/library/gpu-library.o" \
        "$build/grader/library/arguments-library.o" "$3/sizes.o" -o "$3/gpu.so"
}

# build LESSON KEY: what is built stays until the file or the course has changed. source says which
# file it was, and its hash: Python compares. A library that is in use stays whole: the new one
# takes its place at once.
build() {
    file=$(source_of "$1" "$2") out=build/torch/$1/$2 new=build/torch/$1/$2.new
    [ -f "$file" ] || {
        echo "$file does not exist." >&2
        exit 2
    }
    flock build/.lock make -s --no-print-directory library LESSON="$1" || exit 2
    now="$file $(sha256sum <"$file" | cut -c 1-64)"
    gpu_too=
    if find_gpu; then gpu_too=yes; elif [ "${DEVICE:-}" = cuda ] && [ -x "$nvcc" ]; then gpu_too=yes; fi
    if [ -e "$out/source" ] && [ "$(cat "$out/source")" = "$now" ] && { [ -z "$gpu_too" ] || [ -e "$out/gpu.so" ]; } &&
        [ -z "$(find lessons/*.h "lessons/$1" grader/make/torch.sh "$build/libcpu.a" "$build/grader/library" \
            "$build/grader/$1" grader/library -newer "$out/source" ! -name '*.md' -type f)" ]; then
        echo "  $file  (as it was: $out)"
        return
    fi
    rm -rf "$new" && mkdir -p "$new" || exit 2
    # The contract's functions of sizes, how many bytes a workspace has, are static inline. Whoever
    # loads the library finds names: here they are functions like any other.
    sed 's/^static inline //' "lessons/$1/${1#*_}.h" |
        gcc -std=c11 -Wall -Wextra -Werror -O2 -fPIC -Ilessons "-Ilessons/$1" -x c - -c -o "$new/sizes.o" &&
        build_cpu "$1" "$file" "$new" || {
        echo "$file does not compile for the CPU device; what it says is above." >&2
        exit 1
    }
    [ -z "$gpu_too" ] || build_gpu "$1" "$file" "$new" || {
        echo "$file does not compile for a GPU; what nvcc says is above." >&2
        exit 1
    }
    echo "$now" >"$new/source"
    rm -rf "$out" && mv "$new" "$out" || exit 2
    echo "  $file  (new: $out)"
}

if [ "$1" = build ]; then
    build "$2" "$3"
    exit
fi

lesson=$1
command -v "$python" >/dev/null 2>&1 || {
    echo "There is no $python here. sh setup.sh --torch makes an environment with PyTorch; PYTHON= names another." >&2
    exit 2
}
partners=$("$python" pytorch/course_kernels/table.py "$lesson") || exit 2
key=${FROM:-exercises}
[ -z "${FILE:-}" ] || key="file"
case $key in
exercises | solutions | file) ;;
*)
    echo "FROM=$key: exercises or solutions; FILE= names any other file" >&2
    exit 2
    ;;
esac
partner=${PARTNER:-solutions}
[ -d solutions ] || [ -n "${PARTNER:-}" ] || partner=exercises
echo "Building"
build "$lesson" "$key"
uses="$lesson=$key"
for other in $partners; do
    (FILE='' && build "$other" "$partner") || exit
    uses="$uses $other=$partner"
done
"$python" -c 'import torch' 2>/dev/null || {
    echo "Built, but not checked: $python has no PyTorch. sh setup.sh --torch makes an environment that has;" \
        "PYTHON= names another Python." >&2
    exit 2
}
COURSE_KERNELS=$uses "$python" pytorch/check.py "$lesson" || exit
case $lesson in
14_* | 16_*) model=14 ;;
17_*) model=17 ;;
25_* | 26_*) model=25 ;;
*) exit 0 ;; # the example is in bf16
esac
echo "In a model: COURSE_KERNELS=\"$uses\" LESSON=$model $python pytorch/example.py"
