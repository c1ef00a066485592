#!/bin/sh
# fingerprint.sh: the fingerprint in a result is the same in every clone, and another after a change
# of anything that decides a grade of that lesson.
# usage: fingerprint.sh
. grader/test/tell.sh
top=$(mktemp -d) || exit 1
trap 'rm -rf "$top"' EXIT
one=$top/one other=$top/another/folder
clone() {
    mkdir -p "$1" && copy_course "$1"
}
# fingerprint FOLDER LESSON. How it was compiled makes no difference.
fingerprint() {
    (cd "$1" && make -s CFLAGS=-O0 -j"$(nproc)" "build/grader/$2/check" &&
        "build/grader/$2/check" --fingerprint) 2>&1
}
clone "$one"
clone "$other"
tiled=$(fingerprint "$one" 05_tiled_matmul)
counting=$(fingerprint "$one" 21_flop_counting)
expect "a fingerprint" test "${#tiled} ${#counting}" = "64 64"
again=$(fingerprint "$other" 05_tiled_matmul)
expect "two clones have the same fingerprint" test "$tiled" = "$again"
expect "and each lesson its own" test "$tiled" != "$counting"

# object CFLAGS: makes one, and says if it is another than before.
object() {
    touch "$top/before"
    (cd "$one" && make -s CFLAGS="$1" build/grader/base/dtype.o && [ -n "$(find build/grader/base/dtype.o -newer "$top/before")" ])
}
expect "other flags compile anew" object -O1
expect "the same flags do not" eval '! object -O1'

# after FILE tiled|- counting|-: a line more in the file changes the fingerprints of the lessons
# that are named.
after() {
    cp "$one/$1" "$top/kept"
    echo >>"$one/$1"
    [ "$(fingerprint "$one" 05_tiled_matmul)" = "$tiled" ] && now=- || now=tiled
    [ "$(fingerprint "$one" 21_flop_counting)" = "$counting" ] && also=- || also=counting
    cp "$top/kept" "$one/$1"
    expect "after a change of $1" test "$now $also" = "$2 $3"
}
after grader/check/judge.c tiled counting
after grader/wall/inspect.c tiled counting
after grader/05_tiled_matmul/check.c tiled -
after grader/05_tiled_matmul/call.c tiled -
after grader/05_tiled_matmul/bench.c - -
after lessons/05_tiled_matmul/tiled_matmul.h tiled -
after lessons/12_flash_forward/flash_forward.h - -
after grader/12_flash_forward/check.c - -
after grader/cpu/device/warp.c tiled -
after grader/cpu/rewrite/tokens.c tiled -
after grader/cpu/include/cuda_bf16.h tiled -
after grader/cpu/cxxflags-watched tiled -
after grader/run/calls.S tiled -
after grader/run/gated tiled -
after grader/wall/compile.sh tiled -
after grader/make/scratch.txt tiled -
after grader/formula/formula.c - counting

# A folder that nobody has told of.
mkdir "$one/grader/shared"
echo '// shared' >"$one/grader/shared/shared.h"
sed -i '1a #include "shared/shared.h"' "$one/grader/05_tiled_matmul/check.c"
tiled=$(fingerprint "$one" 05_tiled_matmul)
after grader/shared/shared.h tiled -
finish
