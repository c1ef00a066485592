#!/bin/sh
# test.sh: what the answers of lesson 21 say is what the CPU device counts when the other lessons'
# kernels run. The formulas are the solution's, computed here by awk: a second reading of them.
# usage: test.sh
. grader/test/tell.sh
answers=solutions/21_flop_counting/answers.txt
profile=$(mktemp) || exit 1
trap 'rm -f "$profile"' EXIT

# value FORMULA SIZE=VALUE...; answer NAME SIZE=VALUE...: by the solution's formula of this name
value() {
    formula=$1
    shift
    awk "function ceil(x) { return x == int(x) ? x : int(x) + 1 }
        function min(a, b) { return a < b ? a : b }
        BEGIN { $(printf '%s; ' "$@") printf \"%.0f\", $formula }"
}
answer() {
    formula=$(sed -n "s|^$1 = \(.*\)  // SOLUTION\$|\1|p" $answers)
    shift
    value "$formula" "$@"
}
# LSE is no part of any answer, but of what the kernels write.
lse_bytes() { value '4 * B * H * N_q' "$@"; }

# run FILE CASE: profiles this case of a kernel; sets `sizes`, those of the case. One head, if it
# names no other.
run() {
    FILE=$1 CASE=$2 FORMAT=json sh grader/make/profile.sh "$(echo "$1" | cut -d/ -f2)" >"$profile" || return
    sizes="B=1 H=1 $(sed -n 's/^  "case": "\(.*\)",$/\1/p' "$profile" | tr -d ' ' | tr , '\n' | grep '^[BHNd][_a-z]*=[0-9]*$' | tr '\n' ' ')"
}

# counted METRIC...: their sum over all kernels
counted() {
    for metric; do echo "$metric"; done | awk '
        NR == FNR { wanted["\"" $1 "\":"]; next }
        /^        "/ && $1 in wanted { sum += $2 }
        END { printf "%.0f", sum }' - "$profile"
}

# constants FILE: its BLOCK_Q and BLOCK_K
constants() {
    sed -n 's/^#define \(BLOCK_[QK]\) \([0-9]*\).*/\1=\2/p' "$1"
}

# same NAME COUNTED PREDICTED
same() {
    if [ "$2" -gt 0 ] && [ "$2" = "$3" ]; then tell ok "$1"; else tell FAIL "$1" "counted $2, the answer is $3"; fi
}

# shellcheck disable=SC2046,SC2086  # sizes are words
{
    loads=smsp__sass_data_bytes_mem_global_op_ld.sum
    tensor=sm__inst_executed_pipe_tensor_op_hmma.sum
    for file in solutions/12_flash_forward/flash_forward.cu solutions/13_causal_ragged/causal_ragged.cu; do
        run $file ''
        same "flash_read_bytes: $file" "$(counted $loads)" "$(answer flash_read_bytes $sizes $(constants $file))"
        same "array_bytes: $file" "$(counted cudev__distinct_read_bytes cudev__distinct_written_bytes)" \
            "$(($(answer array_bytes $sizes) + $(lse_bytes $sizes)))"
    done
    file=solutions/12_flash_forward/steps/1_naive.cu
    run $file ''
    same "naive_bytes: $file" "$(counted cudev__distinct_read_bytes cudev__distinct_written_bytes)" \
        "$(($(answer naive_bytes $sizes) + $(lse_bytes $sizes)))"
    file=solutions/14_flash_tensor_core/flash_tensor_core.cu
    run $file 'no bank conflicts'
    tiles=$(awk '$2 == "TILES_64" { print "BLOCK_Q=" $3 + 0, "BLOCK_K=" $4 + 0 }' lessons/14_flash_tensor_core/tiles.h)
    same "mma_count: $file" "$(counted $tensor)" "$(answer mma_count $sizes $tiles)"
    # 4 of the 7 products for a whole block of keys, 3 for one of queries; the case has 64 of each,
    # or less.
    file=solutions/16_flash_backward_split/flash_backward_split.cu
    run $file 'no bank conflicts'
    keys=$(awk '$2 == "TILES_64" { print $3 + 0 }' lessons/16_flash_backward_split/tiles.h)
    queries=$(awk '$2 == "TILES_64" { print $7 + 0 }' lessons/16_flash_backward_split/tiles.h)
    same "split_flops: $file" "$((7 * 4096 * $(counted $tensor)))" \
        "$((4 * $(answer split_flops $sizes N_k=$keys) + 3 * $(answer split_flops $sizes N_q=$queries)))"
    file=solutions/15_flash_backward/flash_backward.cu
    run $file ''
    same "dq_atomic_bytes: $file" "$((4 * $(counted cudev__atomic_global_threads)))" \
        "$(answer dq_atomic_bytes $sizes $(constants $file))"
}
finish
