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

# The contracts of lessons that the files include: their headers are found, and a kernel of a lesson
# alone is no program.
contracts=
# shellcheck disable=SC2013,SC2086  # words
for name in $(sed -n 's/^ *# *include *"\([a-z0-9_]*\)\.h".*/\1/p' $FILE 2>/dev/null | sort -u); do
    for folder in lessons/[0-9]*_"$name"; do
        [ ! -e "$folder/$name.h" ] || contracts="$contracts $folder"
    done
done
# shellcheck disable=SC2086
if [ -n "$contracts" ] && ! grep -qE '\bmain *\(' $FILE; then
    lesson=${contracts##*/}
    echo "$FILE is a kernel of lesson $lesson, without main(). What it is for:" >&2
    echo "  make grade LESSON=${lesson%%_*} FILE=$FILE     runs it on the grader's data" >&2
    echo "  make run FILE='$FILE mine.cu'     beside a main() of your own in mine.cu" >&2
    exit 2
fi
for folder in $contracts; do FLAGS="$FLAGS -Ilessons -I$folder"; done
export CUDEV_CACHE="$CUDEV_BUILD/run" CUDEV_IN="${IN:-}"
# shellcheck disable=SC2086  # lists of words
exec sh grader/cpu/cudev.sh --run ${WATCH:+--watch="$WATCH"} $FLAGS $FILE -- $ARGS
