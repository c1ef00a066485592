#!/bin/sh
# job.sh: one job of all.sh: runs it, shows what it says in one piece, and ends its group if it was
# the last.
# usage: job.sh GROUP SCRIPT ARGUMENT...     SCRIPT is a file in grader/test, or a path
# build/test/run/GROUP/ holds `count`, of the jobs; `said`, the lines of all of them; `done`, a line
# of MILLISECONDS OF-PROCESSORS STATUS JOB for each; `close`, a last job when all are done, if there
# is something to do; `key`, under which the ledger remembers that all was well.
. grader/test/ledger.sh
group=$1
shift
dir=build/test/run/$group

# run SCRIPT ARGUMENT...: sets count to the number of jobs that are done. Under the lock, lines are
# written whole, and exactly one job is the last.
run() {
    began=$(date +%s%3N)
    job=$*
    script=$1
    shift
    case $script in */*) ;; *) script=grader/test/$script ;; esac
    sh "$script" "$@" >"$dir/$$" 2>&1
    status=$?
    times >"$dir/$$.times" # the second line: user and system, of all that it started
    processor=$(awk -F '[ms ]+' 'NR == 2 { print int(60000 * ($1 + $3) + 1000 * ($2 + $4)) }' \
        "$dir/$$.times")
    {
        flock 9
        tee -a "$dir/said" <"$dir/$$"
        echo "$(($(date +%s%3N) - began)) $((processor - earlier)) $status $job" >>"$dir/done"
        count=$(wc -l <"$dir/done")
    } 9>>build/test/run/.lock
    rm -f "$dir/$$" "$dir/$$.times"
    earlier=$processor
}
earlier=0
run "$@"
[ "$count" = "$(cat "$dir/count")" ] || exit 0
# shellcheck disable=SC2046  # words
[ ! -s "$dir/close" ] || run $(cat "$dir/close")
# 77: skipped, tools are missing; where they are expected (CI) that is a failure.
awk -v group="$group" -v ci="${CI:-}" '
    FILENAME ~ /done$/ {
        ms += $1
        processor += $2
        if ($3 == 77) missing = 1
        else if ($3) bad = 1
        next
    }
    /^ok/ { ok++ } /^FAIL/ { failed++ } /^skip/ { skipped++ }
    END {
        if (failed || missing && ci) bad = 1
        printf "== %s: %d passed, %d failed, %d skipped; %d s\n", group, ok, failed, skipped,
            ms / 1000 + 0.5
        print group, bad + 0, ms, processor >>"build/test/run/groups"
        exit bad || skipped || missing
    }' "$dir/done" "$dir/said" && [ -s "$dir/key" ] && ledger_add stages "$(cat "$dir/key")"
exit 0
