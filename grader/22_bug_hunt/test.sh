#!/bin/sh
# test.sh: what lesson 22 has to prove besides its kernels: given.h is the exercise as it is cut;
# the sums of group_sums are in local memory as they are given, and in registers when mended.
# usage: test.sh
. grader/test/tell.sh
. grader/make/save.sh
lesson=22_bug_hunt
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT

stub $lesson >"$work/given.cu" && awk -f grader/make/given.awk "$work/given.cu" >"$work/given.h"
expect "given.h is the exercise (make exercises)" cmp "$work/given.h" grader/$lesson/given.h

# Of the file as it is given no cause is told, and no finding. A name, wrong or right, brings both.
graded() { "$build/grader/$lesson/check" "$1" --format "$2" --device cpu --seed 1; }
graded "$work/given.cu" verdict >"$work/verdict"
graded "$work/given.cu" text >"$work/report"
sed 's/\(bug_of_[a-z_]*\) = BUG_NOT_NAMED/\1 = BUG_LOW_PRECISION/' "$work/given.cu" >"$work/guessed.cu"
graded "$work/guessed.cu" verdict | sed 's/ 1 warp_sums.*//' >"$work/causes"
graded "$work/guessed.cu" text >"$work/told"
expect "no cause of the given file is told" grep -q '^0 100 0 bug_not_named ' "$work/verdict"
expect "but a symptom of each kernel" [ "$(grep -c '^ *symptom: ' "$work/report")" = 10 ]
told='== (FINDING|ERROR)|bad mask|sum\[g\]|bytes of shared memory|_kernel'
expect "and no finding" [ "$(grep -cE "$told" "$work/report")" = 0 ]
expect "a guess brings the causes" grep -qxF \
    '0 100 0 race,wrapped_index,workspace_uncleared,one_card,other_stride,local_array,bad_mask,mask_value,sum_init' \
    "$work/causes"
expect "and the findings" grep -q 'FINDING: race' "$work/told"

nvcc=$(command -v nvcc || echo /usr/local/cuda/bin/nvcc)
# stack FILE WANTED: bytes of local memory of a thread
stack() {
    "$nvcc" -std=c++17 -arch=sm_80 -Ilessons -Ilessons/$lesson -Xptxas -v -cubin "$1" -o "$work/x" 2>&1 |
        awk '/properties for.*group_sums/ { getline; print $1 }' >"$work/stack"
    if [ "$(cat "$work/stack")" = "$2" ]; then tell ok "group_sums of $1: $2 bytes in local memory"; else
        tell FAIL "group_sums of $1: $2 bytes in local memory" "$(cat "$work/stack")"
    fi
}
if [ ! -x "$nvcc" ]; then
    tell skip "local memory" "nvcc is not installed"
else
    stack "$work/given.cu" 32
    stack solutions/$lesson/bug_hunt.cu 0
    for file in "grader/$lesson/right"/*.cu; do stack "$file" 0; done
fi
[ "$failed" = 0 ]
