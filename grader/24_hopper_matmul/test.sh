#!/bin/sh
# test.sh: lesson 08's layer on lesson 24's product, solutions/24_hopper_matmul/layer, gets full marks
# from lesson 08's own check, and nvcc compiles it without a spill.
# usage: test.sh [OPTION...]    with options of the check it is graded once, and the report is shown
# Lesson 08's kernels may not include what later lessons teach. So it is graded in a tree of links,
# in which all headers are there from the first lesson on.
. grader/test/tell.sh
file=solutions/24_hopper_matmul/layer/fused_linear.cu
tree=build/test/24_layer
here=$(pwd)
rm -rf $tree
mkdir -p $tree/lessons
for name in build grader solutions lessons/08_fused_linear; do ln -s "$here/$name" "$tree/$name"; done
for header in lessons/*.h; do
    sed '1s/from lesson [0-9]*/from lesson 01/' "$header" >"$tree/$header"
done
if [ $# != 0 ]; then
    cd $tree && exec "$build/grader/08_fused_linear/check" $file "$@"
fi
grade() {
    cd $tree && sh grader/test/kernel.sh 08_fused_linear $file right 1
}
expect "24: the layer on Hopper gets full marks in lesson 08" grade
finish
