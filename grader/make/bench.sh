#!/bin/sh
# bench.sh: what `make bench LESSON=05` does: times every version of a lesson on the GPU, in one
# process and in turns, and records the figures in plots/data/GPU/LESSON.csv. Without a GPU it shows the
# recorded ones. Versions: the steps, the solution, the libraries' (grader/LESSON/peers), and yours as
# soon as it differs from the stub (or FILE=).
# usage: bench.sh LESSON...   with FILE, SECONDS_PER_SIZE (default 3) in the environment
. grader/make/gpu.sh
if ! find_gpu; then
    recorded csv "$@"
    exit 0
fi

status=0
for lesson; do
    [ -e "grader/$lesson/bench.c" ] || {
        echo "Lesson $lesson is not timed: its text says why."
        continue
    }
    prepare "$lesson" csv bench || exit 2
    echo "Lesson $lesson"
    # shellcheck disable=SC2086  # one word each
    "build/grader/$lesson/bench" "$csv.new" "${SECONDS_PER_SIZE:-3}" $versions &&
        mv "$csv.new" "$csv" && printf '\nRecorded in %s\n\n' "$csv" || status=1
    rm -f "$csv.new"
done
exit $status
