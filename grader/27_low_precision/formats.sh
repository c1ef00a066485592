#!/bin/sh
# formats.sh: prints the table of number formats in lesson 27's text (make texts).
cd "$(dirname "$0")/../.." || exit 1
mkdir -p build/grader/27_low_precision
cc -std=c11 -D_GNU_SOURCE -Wall -Wextra -Werror -O2 -Igrader grader/27_low_precision/formats.c \
    -o build/grader/27_low_precision/formats -lm && exec build/grader/27_low_precision/formats
