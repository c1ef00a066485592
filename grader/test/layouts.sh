#!/bin/sh
# layouts.sh: hand-ins in the layouts of Moodle, Canvas, Gradescope and GitHub Classroom, and in
# those that people make: of each student the right file counts, and what does not is named. Nothing
# is graded. usage: layouts.sh [CASE]
. grader/test/tell.sh
need "layouts" python3
dir=$(mktemp -d "${TMPDIR:-/tmp}/layouts test.XXXXXX") || exit 1
trap 'rm -rf "$dir"' EXIT
python3 grader/test/class/layouts.py "$dir" || exit 1
make -s --no-print-directory ready "$build/class" || exit 1
collect() { # collect CASE: what counts there, sorted, in $dir/said
    set --
    while IFS= read -r option; do set -- "$@" "$option"; done <"$dir/$case/options"
    env "$@" DRY=yes OUT="$dir/$case/out" make -s --no-print-directory class >"$dir/$case/printed" 2>"$dir/$case/errors" || {
        cat "$dir/$case/errors"
        return 1
    }
    grep -Ev '^([0-9]* rows; |late hand-ins: )' "$dir/$case/printed" | LC_ALL=C.UTF-8 sort >"$dir/$case/said"
    LC_ALL=C.UTF-8 sort "$dir/$case/expected" | diff - "$dir/$case/said"
}
same_files() { diff -r "$dir/$case/taken" "$dir/$case/out/submissions"; }
for case in ${1:-plain latest moodle_folders moodle_flat moodle_roster moodle_zips moodle_times canvas_folder canvas_zip \
    gradescope_folder gradescope_zip classroom classroom_other twins mixed hostile}; do
    mkdir -p "$dir/$case/taken"
    expect "$case: what counts" collect
    expect "$case: the files" same_files
done
# One hour late, not three days.
in_time() { grep -q '"Ada Lovelace","01_vector_add","0.05","its time"' "$dir/moodle_times/out/late.csv"; }
[ -n "${1:-}" ] || expect "moodle_times: days" in_time
finish
