#!/bin/sh
# bfloat16.sh: makes the CPU device's bfloat16.h of its half.h. CUDA offers the same for both types,
# as plain functions, whose arguments convert; a template's would not.
# usage: bfloat16.sh [FILE]     FILE: where to, instead of beside half.h
here=grader/cpu/include/cudev
# The names of types get nv_, those of functions do not: __half2 is a type, __half2float a function.
{
    echo "// bfloat16.h: bfloat16, its pair, and all that CUDA offers for them: half.h with other names."
    echo "// grader/make/bfloat16.sh has made it: edit half.h."
    sed -E -e '/^\/\//,/^#ifndef/ { /^\/\//d }' -e 's/\b__(half2?(_raw)?)\b/__nv_\1/g; s/half/bfloat16/g; s/HALF/BFLOAT16/g' \
        $here/half.h
} | clang-format --assume-filename=$here/bfloat16.h >"${1:-$here/bfloat16.h}"
