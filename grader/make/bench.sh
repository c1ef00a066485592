#!/bin/sh
# bench.sh: what `make bench LESSON=05` does: times every version of a lesson on the GPU, in one
# process and in turns, and records the figures in plots/data/GPU/LESSON.csv. Without a GPU it shows the
# recorded ones. Versions: the steps, the solution, the libraries' (grader/LESSON/peers), and yours as
# soon as it differs from the stub (or FILE=).
# usage: bench.sh LESSON...   with FILE, SECONDS_PER_SIZE (default 3) in the environment
. grader/make/gpu.sh
table() { # table CSV: as the lessons' texts show it
    awk -f grader/make/bench_table.awk "$1"
}
if ! find_gpu; then
    echo "There is no GPU with nvcc here: these are recorded figures."
    for lesson; do
        found=0
        for csv in plots/data/*/"$lesson.csv"; do
            [ -e "$csv" ] || continue
            found=1
            printf '\nLesson %s, %s\n\n' "$lesson" "$csv"
            table "$csv"
        done
        [ "$found" = 1 ] || echo "Lesson $lesson: none are recorded."
    done
    exit 0
fi
files() { # the versions in the order of the table: FILE NAME
    for file in solutions/"$lesson"/steps/*.cu "solutions/$lesson/$function.cu" grader/"$lesson"/peers/*.cu; do
        [ ! -e "$file" ] || echo "$file $(basename "$file" .cu | sed "s/^$function\$/solution/")"
    done
    mine=${FILE:-exercises/$lesson/$function.cu}
    awk -f grader/make/cut.awk "solutions/$lesson/$function.cu" | cmp -s - "$mine" || echo "$mine yours"
}

status=0
for lesson; do
    [ -e "grader/$lesson/bench.c" ] || {
        echo "Lesson $lesson is not timed: its text says why."
        continue
    }
    function=${lesson#*_}
    out=build/bench/$lesson
    mkdir -p "$out" "plots/data/$gpu"
    make -s --no-print-directory "build/grader/$lesson/bench" || exit 2
    rm -f "$out"/*.so
    files >"$out/versions"
    while read -r file version; do
        library "$lesson" "$file" "$out/$version" &
    done <"$out/versions"
    wait
    versions=$(while read -r file version; do
        [ ! -e "$out/$version.so" ] || echo "$version=$out/$version.so"
    done <"$out/versions")
    csv=plots/data/$gpu/$lesson.csv
    # Your own times are yours: they are not recorded.
    case "$versions" in *yours=*) csv=$out/yours.csv ;; esac
    echo "Lesson $lesson"
    # shellcheck disable=SC2086  # one word each
    "build/grader/$lesson/bench" "$csv.new" "${SECONDS_PER_SIZE:-3}" $versions &&
        mv "$csv.new" "$csv" && printf '\nRecorded in %s\n\n' "$csv" || status=1
    rm -f "$csv.new"
done
exit $status
