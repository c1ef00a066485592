#!/bin/sh
# run.sh: what `make run FILE=x.cu ARGS='...'` does: compiles the files for the CPU device, and runs
# the program. WATCH=check or profile watches it, FLAGS= are options of the compiler,
# IN= is the folder that it runs in.
[ -n "$FILE" ] || {
    echo "make run needs a file: make run FILE=x.cu ARGS='1 2' (FLAGS='-Ifolder', WATCH=check or profile)" >&2
    exit 2
}
case ${WATCH:-check} in
check | profile | check,profile) ;;
*)
    echo "WATCH=$WATCH: check looks for races and stray accesses, profile counts memory traffic" >&2
    exit 2
    ;;
esac
export CUDEV_CACHE="$CUDEV_BUILD/run" CUDEV_IN="${IN:-}"
# shellcheck disable=SC2086  # lists of words
exec sh grader/cpu/cudev.sh --run ${WATCH:+--watch="$WATCH"} $FLAGS $FILE -- $ARGS
