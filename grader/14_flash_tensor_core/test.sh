#!/bin/sh
# test.sh: the first half of lesson 14's exercise stands alone: what is given in the second half's
# gaps, with the solution's lines in the others, gets full marks, and nvcc takes it. usage: test.sh
. grader/test/tell.sh
. grader/make/gpu.sh
lesson=14_flash_tensor_core
half=build/test/14_first_half.cu
mkdir -p build/test
awk '
    /^ *\/\/ BEGIN SOLUTION/ { open = 1; given = 0; region = ""; next }
    open && /^ *\/\/ AS GIVEN$/ { given = 1; gaps++; region = ""; next }
    /^ *\/\/ END SOLUTION/ { printf "%s", region; open = 0; next }
    open { if (given) sub(/\/\/ ?/, ""); region = region $0 "\n"; next }
    { print }
    END { exit gaps != 3 }' "solutions/$lesson/flash_tensor_core.cu" >$half
expect "14: three gaps of the exercise have something given" test $? = 0
expect "14: the first half of the exercise alone gets full marks" \
    sh grader/test/kernel.sh $lesson $half right 1
if [ -x "$nvcc" ]; then
    expect "14: nvcc takes the first half alone" "$nvcc" -std=c++17 -arch=sm_80 -Werror all-warnings \
        -Ilessons -Ilessons/$lesson -ptx -o /dev/null $half
fi
finish
