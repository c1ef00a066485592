#!/bin/sh
# library.sh: a kernel as a library (grader/library), without PyTorch: it is loaded by a C program
# and called by names. A wrong kernel answers wrongly, one that ends its program says where. Where
# nvcc is, the library for a GPU is linked, and its launches are seen to pass gpu.c.
# usage: library.sh
. grader/test/tell.sh
unset FILE FROM DEVICE MAKEFLAGS MAKELEVEL MFLAGS
work=build/test/library
lesson=12_flash_forward
rm -rf $work
mkdir -p $work
nvcc=$(command -v nvcc || echo /usr/local/cuda/bin/nvcc)

# The program is built as the grader is, with the sanitizers: spawn.c and arguments.c in it.
expect "library: the program that calls" gcc -std=c11 -D_GNU_SOURCE -Wall -Wextra -Werror -g -Igrader -Ilessons \
    grader/test/library/call.c grader/base/dtype.c -ldl -lm -o $work/call
expect "library: lesson 12 is built" sh grader/make/torch.sh build $lesson solutions
for what in right bad missing; do
    expect "library: $what" $work/call build/torch/$lesson/solutions/cpu.so $what
done
# other NAME WHAT SED: the solution, edited, as FILE=
other() {
    sed "$3" solutions/$lesson/flash_forward.cu >"$work/$1.cu"
    if cmp -s "$work/$1.cu" solutions/$lesson/flash_forward.cu; then
        tell FAIL "library: $1" "the edit changes nothing"
    else
        expect "library: $1 is built" env FILE="$work/$1.cu" sh grader/make/torch.sh build $lesson test
        expect "library: $1" $work/call build/torch/$lesson/test/cpu.so "$2"
    fi
}
other wrong wrong 's/expf(/1.01f * expf(/; s/exp2f(/1.01f * exp2f(/; s/logf(l/1.01f * logf(l/'
other ends ends '/^ *__syncthreads();/{s//if (threadIdx.x != 0) __syncthreads();/;:a;n;ba;}'
other misses misses 's/^\( *\)O\[.*= .*;.*/\1;/'

# spawn.c under the sanitizers, in the program itself. The program that it starts stands beside it.
sanitized() {
    gcc -std=c11 -D_GNU_SOURCE -g -fsanitize=address,undefined -fno-sanitize-recover=all -fPIC -Igrader -Ilessons \
        -shared grader/library/spawn.c -ldl -o $work/cpu.so &&
        cp build/torch/$lesson/solutions/cpu $work/cpu &&
        gcc -std=c11 -D_GNU_SOURCE -g -fsanitize=address,undefined -fno-sanitize-recover=all -Igrader -Ilessons \
            grader/test/library/call.c grader/base/dtype.c -ldl -lm -o $work/call-sanitized &&
        for what in right bad missing; do $work/call-sanitized $work/cpu.so $what || return; done
}
expect "library: the same with the sanitizers" sanitized

if [ -x "$nvcc" ]; then
    cuda=$(dirname "$(dirname "$(realpath "$nvcc")")")
    streams() {
        gcc -std=c11 -Wall -Wextra -Werror -g -fsanitize=address,undefined -Igrader -Ilessons -isystem "$cuda/include" \
            grader/test/library/streams.c grader/library/gpu.c grader/library/arguments.c -o $work/streams && $work/streams
    }
    expect "library: work of the default stream goes into the caller's" streams
    linked() {
        DEVICE=cuda sh grader/make/torch.sh build $lesson solutions &&
            nm build/torch/$lesson/solutions/gpu.so | grep -q ' T library_call' &&
            objdump -d build/torch/$lesson/solutions/gpu.so >$work/dump &&
            grep -q 'call.*<__wrap___cudaPushCallConfiguration' $work/dump &&
            [ "$(grep -c 'call.*<__cudaPushCallConfiguration' $work/dump)" = 0 ]
    }
    expect "library: on a GPU every launch passes gpu.c" linked
else
    tell skip "library: for a GPU" "nvcc is not installed"
fi
# What pytorch/README.md shows of the code stands there, line for line.
shown() {
    awk '/^```python/ { on = 1; next } /^```/ { on = 0 } on && NF && !/\.\.\.$/' pytorch/README.md >$work/shown
    [ "$(wc -l <$work/shown)" -gt 20 ] || { echo "pytorch/README.md shows no code" && return 1; }
    ! cat pytorch/*.py pytorch/course_kernels/*.py | sed 's/^ *//' |
        awk 'NR == FNR { there[$0]; next } { sub(/^ */, "") } !($0 in there) { print; found = 1 } END { exit !found }' - $work/shown
}
expect "library: the code that pytorch/README.md shows" shown
finish
