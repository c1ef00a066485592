#!/bin/sh
# test.sh: what lesson 29 has to prove beside its grade: `make train` learns, what is interrupted
# goes on with the same bits, and what is no checkpoint of this training is not taken for one; and
# that several GPUs train as one does. SAMPLE="96 WORD" in the environment: of the mistakes that are
# planted one in four, drawn by WORD.
# usage: test.sh
. grader/test/tell.sh
dir=$(mktemp -d "${TMPDIR:-/tmp}/train.XXXXXX") || exit 1
trap 'rm -rf "$dir"' EXIT
for lesson in 01_vector_add 29_train_gpt; do
    begin="begin in line $(grep -n 'your code goes here' "exercises/$lesson/${lesson#*_}.cu" | sed 's/:.*//; q')"
    expect "$lesson: the stub's grade says where to begin" sh -c "
        '$build/grader/$lesson/check' 'exercises/$lesson/${lesson#*_}.cu' --device cpu --seed 1 >'$dir/said'
        grep -q ': $begin,' '$dir/said'"
done
STEPS=3 FROM=solutions MODEL=tiny DEVICE=cpu OUT=$dir/whole
export STEPS FROM MODEL DEVICE OUT
unset SEED GPUS NCCL MAKEFLAGS MAKELEVEL
expect "train: a model is trained and writes text" sh -c "make -s train >'$dir/said' 2>&1 && grep -q '^It writes:' '$dir/said'"
# shellcheck disable=SC2016  # the $ are awk's
expect "train: the loss falls" awk -F, '
    NR == 2 { first = $2 } { last = $2 } END { exit !(NR == 4 && last < first) }' "$dir/whole/tiny.csv"
! command -v gnuplot >/dev/null 2>&1 || expect "train: the curve is drawn" grep -q '<svg' "$dir/whole/tiny.svg"
# The program's own kernels, in a program of their own.
kernels() {
    include="-Igrader -Ilessons -Igrader/cpu/include -DCPU_DEVICE"
    # shellcheck disable=SC2086  # words
    ${CC:-cc} -std=c11 -D_GNU_SOURCE -O1 $include -c grader/test/train/kernels.c -o "$dir/kernels.o" &&
        g++ -no-pie build/train/cpu/solutions_*.o build/train/cpu/grader_*.o build/grader/train/model-cpu.o \
            build/grader/train/reduce-cpu.o build/grader/train/ranks-cpu.o "$dir/kernels.o" \
            build/libgrader.a build/libcpu.a -lpthread -ldl -lm -o "$dir/kernels" && "$dir/kernels"
}
expect "train: the program's own kernels are right at other sizes" kernels
tiny="--model tiny --text build/train/text --brief 1"
program() { # program FOLDER OPTION...
    mkdir -p "$dir/$1"
    folder=$dir/$1
    shift
    # shellcheck disable=SC2086  # words
    build/train/cpu/program $tiny --out "$folder" --steps 3 "$@"
}
program straight >"$dir/said" 2>&1
# Interrupted behind the first step, then to the end.
interrupted() {
    mkdir "$dir/parts" # not by program(): its number would be that of a shell
    # shellcheck disable=SC2086  # words
    build/train/cpu/program $tiny --out "$dir/parts" --steps 3 >"$dir/first" 2>&1 &
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
expect "train: with the bits of one that nobody interrupted" cmp "$dir/straight/tiny.checkpoint" "$dir/parts/tiny.checkpoint"
aside() {
    program parts --steps 2 >"$dir/third" 2>&1 && grep -q 'is kept as' "$dir/third" &&
        cmp "$dir/straight/tiny.checkpoint" "$dir/parts/tiny.checkpoint.before"
}
expect "train: another STEPS= keeps what was there" aside
halved() { # not cut(), which drawn() needs
    head -c 100000 "$dir/half" >"$dir/parts/tiny.checkpoint"
    ! program parts >"$dir/third" 2>&1 && grep -q 'is damaged' "$dir/third"
}
warmed() {
    mkdir -p "$dir/warmed" && cp "$dir/half" "$dir/warmed/tiny.checkpoint" &&
        program warmed --warm 1 >"$dir/third" 2>&1 && grep -q 'another WARM=' "$dir/third"
}
expect "train: another WARM= is another training" warmed
expect "train: half a checkpoint is refused" halved
expect "train: nothing is left beside it" test ! -e "$dir/parts/tiny.checkpoint.new"
refused() { # refused WORDS NAME=VALUE...
    words=$1
    shift
    ! env "$@" sh grader/make/train.sh >"$dir/said" 2>&1 && grep -q "$words" "$dir/said"
}
# shellcheck disable=SC2016  # the $ are awk's
for record in plots/data/*/29_train_gpt.losses.csv; do
    expect "train: recorded losses are within 1 % of PyTorch's: ${record%/*}" awk -F, '
        NR == 1 { if ($2 != "ours") exit wrong = 1; next }
        { for (f = 3; f <= NF; f++) if (!($f / $2 < 1.01 && $f / $2 > 0.99)) wrong = 1 }
        END { exit wrong || NR < 200 }' "$record"
done
# numbers FILE LINE: those of its lines for a model, as one spelling
numbers() { sed -n "s/.*\"\(tiny\|small\|124m\)\"[:,] *(*\([-0-9., e]*[f0-9., e-]*\).*/\1 \2/p" "$1" | sed 's/f//g; s/, / /g'; }
same_sizes() {
    numbers grader/train/model.c | awk '{ $8 = ""; $0 = $0; $1 = $1 } 1' >"$dir/ours" # without the steps
    numbers grader/train/peers.py | awk '{ $1 = $1 } 1' >"$dir/theirs"
    [ "$(wc -l <"$dir/ours")" = 3 ] && diff "$dir/ours" "$dir/theirs"
}
expect "train: peers.py has the models' sizes" same_sizes
rate=$(numbers grader/train/model.c | awk '$1 == "tiny" { print $10 }')
expect "train: apart.c has the learning rate of MODEL=tiny" grep -q "lr = $rate," grader/test/train/apart.c
expect "train: another MODEL= is refused" refused 'none of these' MODEL=large
expect "train: STEPS=0 is refused" refused 'no whole number' STEPS=0
expect "train: WARM=0 is refused" refused 'no whole number' WARM=0
expect "train: FROM= is exercises or solutions" refused 'FROM= is exercises or solutions' FROM=steps
expect "train: GPUS=0 is refused" refused 'no number of GPUs' GPUS=0
expect "train: GPUS=3 does not divide the texts" refused 'divided evenly' GPUS=3
expect "train: without NCCL it says what to do" refused 'needs NCCL' GPUS=2 NCCL=/nowhere.so
expect "train: a library that is not NCCL is refused" refused 'no NCCL' GPUS=2 NCCL=libm.so.6

# ---- several GPUs: on the CPU device each process has one

# several PROGRAM FOLDER OPTION...: with GPUS=2
several() {
    mkdir -p "$dir/$2"
    binary=$1 folder=$dir/$2
    shift 2
    # shellcheck disable=SC2086  # words
    "$binary" $tiny --out "$folder" --gpus 2 --nccl build/train/libnccl-cpu.so "$@"
}
${CC:-cc} -std=c11 -D_GNU_SOURCE -O1 -Igrader grader/test/train/apart.c -lm -o "$dir/apart" || tell FAIL "train: apart.c"
alike() { # alike ONE SEVERAL: folders
    "$dir/apart" "$dir/$1/tiny.checkpoint" "$dir/$2/tiny.checkpoint" 2
}
expect "train: GPUS=2 trains" several build/train/cpu/program two --steps 3
expect "train: with the losses of one GPU" alike whole two
expect "train: the speed is recorded with GPUS" grep -q '^tiny,the course,2,' "$dir/two/tiny.speed.csv"
program one_step --steps 1 >/dev/null 2>&1
expect "train: GPUS=2, one step" several build/train/cpu/program two_step --steps 1
expect "train: with the gradients of one GPU" alike one_step two_step
on_two() {
    mkdir -p "$dir/mixed" && cp "$dir/half" "$dir/mixed/tiny.checkpoint" &&
        several build/train/cpu/program mixed --steps 3 >"$dir/said" && grep -q '^Goes on after step' "$dir/said" &&
        alike whole mixed
}
expect "train: what one GPU began goes on with two" on_two

# ranks_of PID: the processes that it watches. sed goes on where a file ends meanwhile (awk does
# not), and not every kernel has /proc/PID/task/PID/children.
ranks_of() {
    sed -n "s/^\([0-9]*\) (.*) [A-Z] $1 .*/\1/p" /proc/[0-9]*/stat 2>/dev/null
}
# A process is killed while the others wait for it.
killed() {
    mkdir -p "$dir/killed"
    : >"$dir/said" # what another run said is not waited for
    # shellcheck disable=SC2086  # words
    build/train/cpu/program $tiny --out "$dir/killed" --gpus 2 --steps 500 \
        --nccl build/train/libnccl-cpu.so >"$dir/said" 2>&1 &
    watcher=$!
    while ! grep -q '^ *1 ' "$dir/said" && kill -0 $watcher; do sleep 0.1; done
    ranks=$(ranks_of $watcher)
    [ -n "$ranks" ] || { cat "$dir/said"; kill $watcher; return 1; }
    kill -KILL "${ranks##*
}"
    wait $watcher
    [ $? = 1 ] && grep -q 'was ended by signal 9' "$dir/said" || return 1
    for rank in $ranks; do ! kill -0 "$rank" 2>/dev/null || return 1; done
}
expect "train: a process that dies ends the others, with a message" killed
interrupted_two() {
    mkdir -p "$dir/two_parts"
    : >"$dir/said"
    # shellcheck disable=SC2086  # words
    build/train/cpu/program $tiny --out "$dir/two_parts" --gpus 2 --steps 500 \
        --nccl build/train/libnccl-cpu.so >"$dir/said" 2>&1 &
    watcher=$!
    while ! grep -q '^ *1 ' "$dir/said" && kill -0 $watcher; do sleep 0.1; done
    kill -TERM $watcher
    wait $watcher
    [ $? = 143 ] && grep -q '^Interrupted after step' "$dir/said" && test -s "$dir/two_parts/tiny.checkpoint"
}
expect "train: two that are interrupted stop behind the same step" interrupted_two

# The means as late as they may come, and what is wrong then.
# variant NAME FILE.c [SED]: the program with grader/train/FILE.c edited, and late.c
wrap=-Wl,--wrap=cudev_launch,--wrap=dlsym,--wrap=cudaEventRecord,--wrap=cudaStreamWaitEvent,--wrap=cudaStreamSynchronize
include="-Igrader -Ilessons -Igrader/cpu/include -DCPU_DEVICE"
for lesson in lessons/[0-9]*/; do include="$include -I$lesson"; done
variant() {
    sed "${3:-}" "grader/train/$2.c" >"$dir/$2.c"
    [ -z "${3:-}" ] || ! cmp -s "grader/train/$2.c" "$dir/$2.c" || return 1
    others=
    for name in main model text checkpoint curve ranks reduce speed; do
        [ "$name" = "$2" ] || others="$others build/grader/train/$name-cpu.o"
    done
    # shellcheck disable=SC2086  # words
    ${CC:-cc} -std=c11 -D_GNU_SOURCE -O1 $include -c "$dir/$2.c" -o "$dir/$2.o" &&
        ${CC:-cc} -std=c11 -D_GNU_SOURCE -O1 $include -c grader/test/train/late.c -o "$dir/late.o" &&
        g++ -no-pie -rdynamic build/train/cpu/solutions_*.o build/train/cpu/grader_*.o $others "$dir/$2.o" "$dir/late.o" \
            $wrap build/libgrader.a build/libcpu.a -lpthread -ldl -lm -o "$dir/$1.program"
}
late() {
    variant late reduce && several "$dir/late.program" late --steps 3 && cmp "$dir/two/tiny.checkpoint" "$dir/late/tiny.checkpoint"
}
expect "train: means that come late give the same bits" late
wrong() { # wrong WORDS NAME FILE SED
    variant "$2" "$3" "$4" && ! several "$dir/$2.program" "$2" --steps 1 >"$dir/said" 2>&1 && grep -q "$1" "$dir/said"
}
! drawn "train early" 24 || expect "train: a mean that does not wait for the block is found" wrong 'may not have written' \
    early reduce '/cudaStreamWaitEvent(r->stream/d'
! drawn "train hasty" 24 || expect "train: a step that does not wait for the means is found" wrong 'other parameters' \
    hasty reduce '/cudaStreamWaitEvent(0/s/return .*/return COURSE_OK;/'
! drawn "train forgotten" 24 || expect "train: a block that is forgotten is found" wrong 'other parameters' forgotten model 's/TRY(block_mean(m, layer));/if (layer) &/'
same_half() {
    variant same main 's/ + (int64_t)t->ranks.rank \* t->size.B//' && several "$dir/same.program" same --steps 1 || return 1
    alike one_step same
    [ $? = 1 ]
}
! drawn "train same" 24 || expect "train: two that read the same texts are found" same_half
finish
