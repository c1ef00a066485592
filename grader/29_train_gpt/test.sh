#!/bin/sh
# test.sh: what lesson 29 has to prove beside its grade: `make train` learns, what is interrupted
# goes on with the same bits, and what is no checkpoint of this training is not taken for one.
# usage: test.sh
. grader/test/tell.sh
dir=$(mktemp -d "${TMPDIR:-/tmp}/train.XXXXXX") || exit 1
trap 'rm -rf "$dir"' EXIT
STEPS=3 FROM=solutions MODEL=tiny DEVICE=cpu OUT=$dir/whole
export STEPS FROM MODEL DEVICE OUT
unset SEED GPUS MAKEFLAGS MAKELEVEL
expect "train: a model is trained and writes text" sh -c "make -s train >'$dir/said' 2>&1 && grep -q '^It writes:' '$dir/said'"
# shellcheck disable=SC2016  # the $ are awk's
expect "train: the loss falls" awk -F, '
    NR == 2 { first = $2 } { last = $2 } END { exit !(NR == 4 && last < first) }' "$dir/whole/tiny.csv"
! command -v gnuplot >/dev/null 2>&1 || expect "train: the curve is drawn" grep -q '<svg' "$dir/whole/tiny.svg"
program() { # program FOLDER OPTION...
    mkdir -p "$dir/$1"
    folder=$dir/$1
    shift
    build/train/cpu/program --model tiny --text build/train/text --out "$folder" --steps 3 "$@"
}
# Interrupted behind the first step, then to the end.
interrupted() {
    mkdir "$dir/parts" # not by program(): its number would be that of a shell
    build/train/cpu/program --model tiny --text build/train/text --out "$dir/parts" --steps 3 >"$dir/first" 2>&1 &
    while ! grep -q '^ *1 ' "$dir/first" && kill -0 $!; do sleep 0.1; done
    kill -INT $! 2>/dev/null
    wait $!
    [ $? = 130 ] && grep -q '^Interrupted after step [12],' "$dir/first"
}
expect "train: an interrupted training says what is saved" interrupted
cp "$dir/parts/tiny.checkpoint" "$dir/half" 2>/dev/null
goes_on() {
    program parts >"$dir/second" 2>&1 && grep -q '^Goes on after step' "$dir/second"
}
expect "train: it goes on" goes_on
expect "train: with the bits of one that nobody interrupted" cmp "$dir/whole/tiny.checkpoint" "$dir/parts/tiny.checkpoint"
aside() {
    program parts --steps 2 >"$dir/third" 2>&1 && grep -q 'is kept as' "$dir/third" &&
        cmp "$dir/whole/tiny.checkpoint" "$dir/parts/tiny.checkpoint.before"
}
expect "train: another STEPS= keeps what was there" aside
cut() {
    head -c 100000 "$dir/half" >"$dir/parts/tiny.checkpoint"
    ! program parts >"$dir/third" 2>&1 && grep -q 'is damaged' "$dir/third"
}
expect "train: half a checkpoint is refused" cut
expect "train: nothing is left beside it" test ! -e "$dir/parts/tiny.checkpoint.new"
refused() { # refused WORDS NAME=VALUE...
    words=$1
    shift
    ! env "$@" sh grader/make/train.sh >"$dir/said" 2>&1 && grep -q "$words" "$dir/said"
}
expect "train: another MODEL= is refused" refused 'none of these' MODEL=large
expect "train: STEPS=0 is refused" refused 'no whole number' STEPS=0
expect "train: FROM= is exercises or solutions" refused 'neither' FROM=steps
expect "train: GPUS=2 is not there" refused 'one GPU' GPUS=2
finish
