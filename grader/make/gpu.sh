# gpu.sh: what bench.sh and tune.sh share; sourced by them.
# shellcheck shell=sh disable=SC2034  # used there
nvcc=$(command -v nvcc || echo /usr/local/cuda/bin/nvcc)

# find_gpu: is there a GPU with nvcc? Sets gpu (its name, for a path), compute, and BENCH_DRIVER.
find_gpu() {
    found=$(nvidia-smi --query-gpu=name,driver_version,compute_cap --format=csv,noheader 2>/dev/null | head -n 1)
    [ -n "$found" ] && [ -x "$nvcc" ] || return
    gpu=$(echo "$found" | cut -d, -f1 | tr '[:upper:] ' '[:lower:]-')
    BENCH_DRIVER=$(echo "$found" | cut -d, -f2 | tr -d ' ')
    export BENCH_DRIVER
    compute=$(echo "$found" | cut -d, -f3 | tr -d ' .')
    [ "$compute" != 90 ] || compute=90a # Hopper's own instructions
}

# library LESSON FILE OUT FLAG...: compiles a version as a library, OUT.so; what nvcc says is in OUT.log.
library() {
    lesson_of=$1 file_of=$2 out_of=$3
    shift 3
    "$nvcc" -O3 -std=c++17 -gencode "arch=compute_$compute,code=sm_$compute" "$@" -Ilessons \
        "-Ilessons/$lesson_of" -shared -Xcompiler -fPIC "$file_of" -lcublas -o "$out_of.so" >"$out_of.log" 2>&1 ||
        echo "$file_of does not compile; see $out_of.log" >&2
}
