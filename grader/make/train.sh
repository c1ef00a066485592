#!/bin/sh
# train.sh: what `make train` does: links the kernels of FROM= (exercises, where their answers are
# right; else the solutions) into a program that trains a language model, and runs it. Your own
# code: no sandbox.
# usage: train.sh      with FROM (exercises), MODEL (tiny), STEPS, WARM, SEED, DEVICE in the environment, OUT, the
#        folder for checkpoint and curve (build/train), GPUS, and NCCL, its library (what the loader finds)
. grader/make/gpu.sh
from=${FROM:-exercises} model=${MODEL:-tiny} out=build/train to=${OUT:-build/train}
lessons="07_tensor_core_matmul 08_fused_linear 11_cross_entropy 14_flash_tensor_core 16_flash_backward_split
24_hopper_matmul 25_hopper_flash 26_hopper_backward 29_train_gpt"
case $from in
exercises | solutions) ;;
*)
    echo "FROM=$from is neither exercises nor solutions." >&2
    exit 2
    ;;
esac
case $model in
tiny | small | 124m) ;;
*)
    echo "MODEL=$model is none of these: tiny, small, 124m." >&2
    exit 2
    ;;
esac
case ${STEPS:-1} in
*[!0-9]* | 0*)
    echo "STEPS=$STEPS is no whole number from 1." >&2
    exit 2
    ;;
esac
case ${WARM:-1} in
*[!0-9]* | 0*)
    echo "WARM=$WARM is no whole number of steps from 1." >&2
    exit 2
    ;;
esac
case ${SEED:-0} in
*[!0-9]*)
    echo "SEED=$SEED is no whole number from 0." >&2
    exit 2
    ;;
esac
case ${GPUS:-1} in
*[!0-9]* | 0* | ???*)
    echo "GPUS=$GPUS is no number of GPUs from 1." >&2
    exit 2
    ;;
esac
device=${DEVICE:-}
if [ "$device" = cpu ]; then
    :
elif find_gpu; then
    device=cuda
elif [ "$device" = cuda ]; then
    echo "There is no GPU with nvcc here: DEVICE=cpu, or without DEVICE=, MODEL=tiny trains on the CPU device." >&2
    exit 2
else
    device=cpu
fi
[ "$device" = cuda ] || [ "$model" = tiny ] ||
    echo "MODEL=$model is for a GPU: here a step takes minutes, and what it writes in the end takes hours."
# Lessons 24 to 26 are compiled for Hopper GPUs alone. The CPU device poses as one.
hopper=yes
[ "$device" = cpu ] || [ "$compute" = 90a ] || hopper=
[ -n "$hopper" ] || lessons=$(for lesson in $lessons; do
    case $lesson in 2[456]_*) ;; *) echo "$lesson" ;; esac
done)
mkdir -p "$out/$device" "$to" || exit 2

# ---- which kernels

chosen="" others=""
# Lesson 08's layer on lesson 24's product, unless it is yours: course.cu calls it by another name.
layer=solutions/24_hopper_matmul/layer/fused_linear.cu
if [ -z "$hopper" ] || [ ! -e $layer ]; then layer=; fi
for lesson in $lessons; do
    file=$(exercise "$lesson") solution=$(solution "$lesson")
    why=
    if [ "$from" = exercises ] && why=$("$build/train/standing" "build/results/$lesson.json" "$file"); then
        chosen="$chosen $file"
        [ "$lesson" != 08_fused_linear ] || layer=
        echo "Lesson ${lesson%%_*}: $file"
    elif [ -e "$solution" ]; then
        chosen="$chosen $solution"
        others="$others${why:+
    $file $why}"
    else
        echo "$file $why, and this edition has no solution in its place: make grade LESSON=${lesson%%_*} first." >&2
        exit 1
    fi
done
[ -z "$others" ] || echo "From the solutions, since$others"
[ -z "$hopper" ] || echo "Of these, those of 07, 14 and 16 are not called: 24 to 26 do their work on a Hopper GPU, as which the
CPU device poses.${layer:+ The linear layers of the forward pass are 08's on 24's product: $layer}"

# ---- the program

include="-Igrader -Ilessons${hopper:+ -DTRAIN_WITH_HOPPER}${layer:+ -DTRAIN_WITH_LAYER}"
for lesson in $lessons; do include="$include -Ilessons/$lesson"; done

# is_fresh OBJECT SOURCE FLAGS: was it made with these flags, and is it newer than its source, the
# headers that it included (OBJECT.d, as the compiler wrote it), and what made it? A header that is
# gone is told by find, and counts as new.
is_fresh() {
    [ -e "$1" ] && [ -e "$1.d" ] && [ "$(cat "$1.flags" 2>/dev/null)" = "$3" ] || return 1
    made_by="grader/make/train.sh"
    [ "$device" = cuda ] || made_by="$made_by grader/cpu/cxxflags $build/cpu/rewrite"
    # shellcheck disable=SC2046,SC2086  # one word each
    [ -z "$(find "$2" $made_by $(sed 's/^[^:]*://; s/\\$//' "$1.d") -newer "$1" -print 2>&1)" ]
}

# object FILE OBJECT FLAG...: compiles a .cu for the device, unless that was done.
object() {
    source=$1 object=$2
    shift 2
    made_with="${nvcc:-} ${compute:-} $* $include"
    ! is_fresh "$object" "$source" "$made_with" || return 0
    echo "Compiles $source"
    echo "$made_with" >"$object.flags"
    if [ "$device" = cuda ]; then
        # shellcheck disable=SC2086  # the flags are words
        "$nvcc" -O3 -std=c++17 -gencode "arch=compute_$compute,code=sm_$compute" "$@" $include \
            -MMD -MF "$object.d" -c "$source" -o "$object"
    else
        "$build/cpu/rewrite" "$source" "${object%.o}.cpp" "$source" || return 1
        # shellcheck disable=SC2046,SC2086  # the flags are words
        g++ $(cat grader/cpu/cxxflags) "$@" $include -Igrader/cpu/include \
            -MMD -MF "$object.d" -c "${object%.o}.cpp" -o "$object"
    fi
}

objects="" failed=$out/failed
rm -f "$failed"
for source in $chosen $layer ${hopper:+grader/train/split.cu} grader/train/course.cu grader/train/kernels.cu; do
    name=$(echo "$source" | tr / _)
    objects="$objects $out/$device/$name.o"
    # A lesson's own headers come first: two lessons have a tiles.h.
    case $source in
    grader/*) flags=-Igrader/train ;;
    "$layer") flags="-Ilessons/08_fused_linear -Dfused_linear=hopper_linear -Dfused_linear_kernel=hopper_linear_kernel
-Dfused_linear_backward=hopper_linear_backward -Dfused_linear_backward_kernel=hopper_linear_backward_kernel" ;;
    *) flags=-Ilessons/$(basename "$(dirname "$source")") ;;
    esac
    # shellcheck disable=SC2086  # the flags are words
    { object "$source" "$out/$device/$name.o" -DTRAIN_GPT_PROGRAM $flags || echo "$source" >>"$failed"; } &
    turns=$((turns + 1))
    [ $((turns % 2)) != 0 ] || wait
done
wait
[ ! -e "$failed" ] || {
    echo "These do not compile: $(paste -sd ' ' "$failed")" >&2
    exit 1
}
host=
for name in main model text checkpoint curve ranks reduce speed; do host="$host $build/grader/train/$name-$device.o"; done
# shellcheck disable=SC2086  # the objects are words
if [ "$device" = cuda ]; then
    "$nvcc" $objects $host "$build/libgrader.a" -lcuda -ldl -lm -o "$out/$device/program" || exit 1
else
    # -rdynamic: what stands in for NCCL copies by this program's cudaMemcpy().
    g++ -no-pie -rdynamic $objects $host "$build/libgrader.a" "$build/libcpu.a" -lpthread -ldl -lm -o "$out/$device/program" || exit 1
fi

# ---- the text: the prose of the lessons, without code, tables, pictures and comments

prose() {
    awk '
        FNR == 1 { code = 0 }
        /^```/ { code = !code; next }
        code || /^    / || /^[|]/ || /^<!--/ || /^!\[/ { next }
        { gsub(/<!--[^>]*-->/, ""); print }' lessons/[0-9]*/README.md
}
prose >"$out/text.$$" && mv "$out/text.$$" "$out/text" || exit 1

set -- --model "$model" --text "$out/text" --out "$to"
[ -z "$STEPS" ] || set -- "$@" --steps "$STEPS"
[ -z "$WARM" ] || set -- "$@" --warm "$WARM"
[ -z "$SEED" ] || set -- "$@" --seed "$SEED"
[ -z "$GPUS" ] || set -- "$@" --gpus "$GPUS"
[ "$device" != cpu ] || nccl=$build/train/libnccl-cpu.so # several processes, a CPU device each
[ -z "${NCCL:-${nccl:-}}" ] || set -- "$@" --nccl "${NCCL:-$nccl}"
"$out/$device/program" "$@"
status=$?
[ "$status" = 0 ] || exit "$status"
if command -v gnuplot >/dev/null 2>&1 && [ -s "$to/$model.csv" ]; then
    gnuplot -e "data='$to/$model.csv'; out='$to/$model.svg'; model='$model'" grader/train/curve.gp &&
        echo "The curve: $to/$model.svg"
fi
