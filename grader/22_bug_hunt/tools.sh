#!/bin/sh
# tools.sh: what the tools of a GPU say of the ten kernels, the given ones or (FROM=solutions) the
# mended ones, as a list: each kernel at two sizes. Needs a GPU, nvcc and compute-sanitizer;
# ncu and ptxas say what is in local memory.
# usage: tools.sh [KERNEL...]      all without a name
file=${FROM:-exercises}/22_bug_hunt/bug_hunt.cu
PATH=$PATH:/usr/local/cuda/bin
work=$(mktemp -d) || exit 2
trap 'rm -rf "$work"' EXIT
nvcc -std=c++17 -O3 -lineinfo -arch=native -Ilessons -Ilessons/22_bug_hunt -Xptxas -v \
    "$file" grader/22_bug_hunt/tools.cu -o "$work/tools" 2>"$work/ptxas" || {
    cat "$work/ptxas" >&2
    exit 2
}
kernels="${*:-warp_sums transpose scale_rows divide_by_count reverse_rows attend group_sums chunk_sums masked_softmax logsumexp}"

# one KERNEL SIZE: in how many of 5 runs it was right, and the first thing that each tool says
one() {
    right=0
    for _ in 1 2 3 4 5; do
        said=$("$work/tools" "$1" "$2" 2>&1 | head -n 1)
        if [ "$said" = right ]; then right=$((right + 1)); else other=$said; fi
    done
    echo "$1, $2: right in $right of 5 runs${other:+; $other}"
    for tool in memcheck racecheck initcheck synccheck; do
        compute-sanitizer --tool $tool "$work/tools" "$1" "$2" >"$work/$1.$2.$tool" 2>&1
        grep -E '^========= ((Error|Warning): Race|Invalid|Uninit|Barrier|Divergent)' "$work/$1.$2.$tool" |
            head -n 1 | sed "s/^=========/    $tool:/; s/([^)]*)+0x[0-9a-f]*//g"
        grep -E '^=========     at ' "$work/$1.$2.$tool" | head -n 1 | sed "s/^=========     /        /; s/([^)]*)+0x[0-9a-f]*//g"
    done
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
