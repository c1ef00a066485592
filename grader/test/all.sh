#!/bin/sh
# all.sh: what `make test` runs. One line per test; the exit status says it all.
# usage: all.sh LESSON...   (a single lesson: only what belongs to it)
start=$(date +%s)
status=0
run() {
    echo "== $*"
    began=$(date +%s)
    "$@"
    code=$?
    echo "   $(($(date +%s) - began)) s"
    # 77: skipped, tools are missing; where they are expected (CI) that is a failure.
    if [ "$code" = 77 ] && [ -z "${CI:-}" ]; then
        echo "skip  $*"
    elif [ "$code" != 0 ]; then
        status=1
        broken="$broken
  $*"
    fi
}

if [ $# = 1 ]; then
    run sh grader/test/lesson.sh "$1"
    run sh grader/test/nvcc.sh "$1"
else
    run sh grader/test/style.sh
    run sh grader/test/unit.sh
    run sh grader/test/fingerprint.sh
    run sh grader/cpu/test/run.sh build
    run sh grader/cpu/test/aarch64.sh build
    run sh grader/test/exploits.sh
    run sh grader/test/interface.sh
    run sh grader/test/bench.sh
    run sh grader/test/new.sh
    run sh grader/test/plots.sh
    run sh grader/test/slides.sh
    run sh grader/test/sweep.sh
    run sh grader/test/class.sh
    run sh grader/test/services.sh
    for lesson; do run sh grader/test/lesson.sh "$lesson"; done
    run sh grader/test/nvcc.sh "$@"
fi
echo "== $(($(date +%s) - start)) s"
[ "$status" = 0 ] && echo "All tests passed." || echo "Failed:$broken"
exit $status
