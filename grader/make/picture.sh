#!/bin/sh
# picture.sh: draws what a terminal shows while a kernel is graded: README.md's picture,
# plots/svg/graded.svg. Part of `make texts`. usage: picture.sh
set -eu
sh grader/test/wrong.sh list 12_flash_forward >/dev/null # makes the kernel
command="make grade LESSON=12 FILE=build/wrong/12_flash_forward/O_not_rescaled.cu SEED=2026"
mkdir -p plots/svg
export COLUMNS=100 COURSE_WITHOUT_NVCC=1 # a pseudo-terminal of its own has no width
# A terminal, so that the report has its colours. Below 100 the command fails, as it should, and
# make says so.
script -qec "$command" /dev/null </dev/null | grep -v '^make.*: [*]\|^(make' |
    awk -f grader/make/picture.awk -v command="$command" >plots/svg/graded.svg
echo plots/svg/graded.svg
