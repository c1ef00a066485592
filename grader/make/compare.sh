#!/bin/sh
# compare.sh: what `make compare LESSON=14` does: times the solution of a lesson, your kernel and PyTorch's
# operations for the same work (grader/bench/compare.py) in one process and in turns, and records the
# figures in plots/data/GPU/LESSON.compare.csv. Without a GPU it shows the recorded ones.
# usage: compare.sh LESSON...   with FILE, SECONDS_PER_SIZE (default 3), PYTHON (python3) in the environment
. grader/make/gpu.sh
if ! find_gpu; then
    recorded compare.csv "$@"
    exit 0
fi
python=${PYTHON:-python3}
command -v "$python" >/dev/null || {
    echo "make compare needs Python with PyTorch, and there is no $python here; make bench needs none." >&2
    exit 2
}

status=0
for lesson; do
    "$python" grader/bench/compare.py "$lesson"
    case $? in
    0) ;;
    3) continue ;;
    *) exit 2 ;;
    esac
    prepare "$lesson" compare.csv bench.so || exit 2
    # What the steps take, make bench says.
    versions=$(printf '%s\n' "$versions" | grep -E '^(solution|yours)=')
    echo "Lesson $lesson"
    # shellcheck disable=SC2086  # one word each
    "$python" grader/bench/compare.py "$lesson" "build/grader/$lesson/bench.so" "$csv.new" \
        "${SECONDS_PER_SIZE:-3}" $versions
    code=$?
    [ "$code" = 0 ] || status=1
    [ "$code" -gt 1 ] || { echo && awk -f grader/make/bench_table.awk "$csv.new"; }
    [ "$code" = 0 ] && mv "$csv.new" "$csv" && printf '\nRecorded in %s\n\n' "$csv"
    rm -f "$csv.new"
done
exit $status
