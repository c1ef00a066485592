#!/bin/sh
# test.sh: lesson 08's layer on lesson 24's product, solutions/24_hopper_matmul/layer: full marks
# from lesson 08's own check; lesson 08's bits where blocks take a second tile; mistakes in its mask
# are found; SAMPLE="96 WORD" in the environment: one in four of them, drawn by WORD. nvcc compiles
# it without spills.
# usage: test.sh [OPTION...]    with options of the check: one grade and its report, nothing else
# Lesson 08's kernels may not include what later lessons teach. So it is graded in a tree of links,
# in which all headers are there from the first lesson on.
. grader/test/tell.sh
file=solutions/24_hopper_matmul/layer/fused_linear.cu
out=build/test/24_layer
tree=$out/tree
here=$(pwd)
rm -rf $out
mkdir -p $tree/lessons
for name in build grader solutions lessons/08_fused_linear; do ln -s "$here/$name" "$tree/$name"; done
for header in lessons/*.h; do
    sed '1s/from lesson [0-9]*/from lesson 01/' "$header" >"$tree/$header"
done
if [ $# != 0 ]; then
    case " $* " in *" --device "*) ;; *) set -- --device cpu --card h200 "$@" ;; esac
    cd $tree && exec "$build/grader/08_fused_linear/check" $file "$@"
fi
grade() (
    cd $tree && sh grader/test/kernel.sh 08_fused_linear $file right:h200 1
)
expect "24: the layer gets full marks from lesson 08" grade

# cudev OPTION...: compiles for the CPU device
cudev() {
    sh grader/cpu/cudev.sh -O1 -Ilessons -Ilessons/08_fused_linear "$@"
}
# program NAME FILE: links a version of the layer with what compares it; all watched
program() {
    cudev --watch=check "$2" $out/mma_linear.cu solutions/24_hopper_matmul/layer/compare.cu -o "$out/$1"
}
# Lesson 08's solution, with functions of other names
sed 's/fused_linear(/mma_linear(/; s/fused_linear_backward/mma_linear_backward/' \
    solutions/08_fused_linear/fused_linear.cu >$out/mma_linear.cu
expect "24: the layer and what compares it compile" program right $file
# run NAME P: true if the bits are lesson 08's, and nothing is found. 136 tiles on 132
# multiprocessors: four blocks take a second one. N is a multiple of 4 and of no more.
run() {
    CUDEV_WATCH=check timeout 100 "$out/$1" 20 34636 8 "$2" >"$out/$1.said" 2>&1 && ! grep FINDING "$out/$1.said"
}
expect "24: where blocks take a second tile it has lesson 08's bits" run right 0.3
expect "24: the same without dropout, where nobody makes a mask" run right 0

# mistake NAME EXPRESSION: an edit of the layer is found
mistake() {
    drawn "layer $1" 24 || return 0
    sed "$2" $file >"$out/$1.cu"
    if cmp -s $file "$out/$1.cu" || ! program "$1" "$out/$1.cu" >"$out/$1.said" 2>&1; then
        tell FAIL "24: the layer with a mistake, $1" "it could not be made: $(tail -n 5 "$out/$1.said")"
    elif run "$1" 0.3 >/dev/null; then
        tell FAIL "24: the layer with a mistake, $1" "nothing is found"
    else
        tell ok "24: the layer with a mistake, $1, is found"
    fi
}
mistake row_of_the_other_lane 's/row + 8 \* odd/row/'
mistake bits_not_exchanged 's/odd ? left : right, 1/odd ? right : left, 1/'
mistake mask_of_the_first_tile 's/row0 + g, col0, p.N, l.dropout/row0 + g, 0, p.N, l.dropout/'
mistake sums_kept 's/                                                k > 0);/                                                1);/'
mistake rows_not_awaited '/rows of all lanes -> read below/d'

# Of each of the four kernels ptxas says how many bytes are spilled: none.
compiled() {
    "$nvcc" -O3 -std=c++17 -Werror all-warnings -gencode arch=compute_90a,code=sm_90a -Xptxas -v -Ilessons \
        -Ilessons/08_fused_linear -cubin $file -o $out/layer.cubin >$out/nvcc 2>&1 || {
        cat $out/nvcc
        return 1
    }
    # C7510 and its like: products that wait for each other.
    grep -e spill -e C75 $out/nvcc
    grep -q C75 $out/nvcc && return 1
    [ "$(grep -c ' 0 bytes spill stores, 0 bytes spill loads' $out/nvcc)" = 4 ]
}
nvcc=$(command -v nvcc || echo /usr/local/cuda/bin/nvcc)
if [ -x "$nvcc" ]; then
    expect "24: nvcc compiles the layer, without spills" compiled
else
    tell skip "24: nvcc" "is not installed: the layer was not compiled for a GPU"
fi
finish
