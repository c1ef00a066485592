#!/bin/sh
# tools.sh: what the tools of a GPU say of the ten kernels, the given ones or (FROM=solutions) the
# mended ones, as a table: a line for each kernel and size. Needs a GPU, nvcc and compute-sanitizer;
# ncu and ptxas say what is in local memory.
# usage: tools.sh        plots/data/NVIDIA_H200/22_bug_hunt.tools.txt is its output there
file=${FROM:-exercises}/22_bug_hunt/bug_hunt.cu
PATH=$PATH:/usr/local/cuda/bin
work=$(mktemp -d) || exit 2
trap 'rm -rf "$work"' EXIT
nvcc -std=c++17 -O3 -lineinfo -arch=native -Ilessons -Ilessons/22_bug_hunt -Xptxas -v \
    "$file" grader/22_bug_hunt/tools.cu -o "$work/tools" 2>"$work/ptxas" || {
    cat "$work/ptxas" >&2
    exit 2
}
kernels="warp_sums transpose scale_rows divide_by_count reverse_rows attend group_sums block_scales masked_softmax logsumexp"

# one KERNEL SIZE: its line, and in $work what each tool printed
one() {
    said="$1 $2: $("$work/tools" "$1" "$2" 2>&1 | head -n 1)"
    for tool in memcheck racecheck initcheck synccheck; do
        compute-sanitizer --tool $tool "$work/tools" "$1" "$2" >"$work/$1.$2.$tool" 2>&1
        first=$(grep -m 1 -E '^========= (Error|Warning|Invalid|Uninit|Race|Barrier|Divergent|Program|Memory)' "$work/$1.$2.$tool" |
            sed 's/^========= //')
        said="$said | $tool: ${first:-nothing}"
    done
    echo "$said"
}

echo "$file, $(nvidia-smi --query-gpu=name,driver_version --format=csv,noheader | head -n 1), CUDA $(nvcc --version | sed -n 's/.*release \([0-9.]*\).*/\1/p')"
for kernel in $kernels; do
    for size in easy hard; do
        one "$kernel" $size >"$work/$kernel.$size" &
    done
    # two arrays of 10 GB are enough at once
    [ "$kernel" != scale_rows ] || wait
done
wait
for kernel in $kernels; do cat "$work/$kernel.easy" "$work/$kernel.hard"; done
[ -z "${WHOLE:-}" ] || for said in "$work"/*.hard.*check; do
    echo "--- $(basename "$said")"
    grep -v '^=========     \(Saved\|Host\|    \)' "$said" | head -n 12
done
grep -A 1 'properties for.*group_sums' "$work/ptxas"
if command -v ncu >/dev/null; then
    ncu --metrics l1tex__t_requests_pipe_lsu_mem_local_op_ld.sum,l1tex__t_requests_pipe_lsu_mem_local_op_st.sum,gpu__time_duration.sum \
        "$work/tools" group_sums hard 2>&1 | grep -E 'local_op|duration'
fi
