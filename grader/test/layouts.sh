#!/bin/sh
# layouts.sh: hand-ins in the layouts of Moodle, Canvas, Gradescope and GitHub Classroom, and in
# those that people make: of each student the right file counts, and what does not is named. Nothing
# is graded. Where somebody has to look at something, the run says so, and does not end with 0.
# usage: layouts.sh [CASE]
. grader/test/tell.sh
need "layouts" python3
dir=$(mktemp -d "${TMPDIR:-/tmp}/layouts test.XXXXXX") || exit 1
trap 'rm -rf "$dir"' EXIT
python3 grader/test/class/layouts.py "$dir" || exit 1
make -s --no-print-directory ready "$build/class" || exit 1
collect() { # collect CASE: what counts there, sorted, in $dir/said
    set --
    while IFS= read -r option; do set -- "$@" "$option"; done <"$dir/$case/options"
    ends=0
    env "$@" DRY=yes OUT="$dir/$case/out" make -s --no-print-directory class >"$dir/$case/printed" 2>"$dir/$case/errors" ||
        ends=$(sed -n 's/^make: .* Error \([0-9]*\)$/\1/p' "$dir/$case/errors")
    [ "$ends" = "$(cat "$dir/$case/ends")" ] || {
        cat "$dir/$case/errors"
        return 1
    }
    while IFS= read -r line; do
        sed "s|$dir/$case/||g" "$dir/$case/errors" | grep -qF -- "$line" || { cat "$dir/$case/errors" && return 1; }
    done <"$dir/$case/todo"
    [ "$ends" != 2 ] || return 0
    grep -Ev '^([0-9]* rows; |late hand-ins: )' "$dir/$case/printed" | LC_ALL=C.UTF-8 sort >"$dir/$case/said"
    LC_ALL=C.UTF-8 sort "$dir/$case/expected" | diff - "$dir/$case/said"
}
# Every line of skipped.csv that the case wants
says_why() {
    while IFS= read -r line; do
        grep -qxF "$line" "$dir/$case/out/skipped.csv" || { cat "$dir/$case/out/skipped.csv" && return 1; }
    done <"$dir/$case/skipped"
}
same_files() { mkdir -p "$dir/$case/out/submissions" && diff -r "$dir/$case/taken" "$dir/$case/out/submissions"; }
for case in ${1:-plain latest moodle_folders moodle_flat moodle_roster moodle_zips moodle_times moodle_copied \
    moodle_unknown canvas_folder canvas_zip gradescope_folder gradescope_zip classroom classroom_other \
    classroom_template moodle_download moodle_early moodle_alone classroom_grades untouched endings accounts accounts_plain twins \
    teams teams_unclear teams_flat teams_times teams_gradescope who_idle who_two who_one \
    names_gradescope names_stranger names_moodle names_canvas mail_zip mail_folder mail_canvas mail_partial mail_alone mail_due mail_due_one mail_due_said worksheet_untimed worksheet_german \
    worksheet_french gradescope_untimed mail_beside \
    table_beside two_zips two_assignments wrong_assignment two_canvas \
    assignments_moodle_hw1 assignments_moodle_hw21 assignments_canvas assignments_classroom assignments_gradescope \
    assignments_one unknown_names moodle_copies moodle_seven canvas_anonymous roster_german roster_other roster_numbers roster_empty \
    tables mixed hostile hostile_refused hostile_one \
    meant_plain meant_moodle meant_canvas meant_gradescope meant_classroom meant_text meant_twice meant_utf16 meant_decided meant_alone meant_shut meant_empty meant_other meant_paper \
    two_times two_unclear two_shared two_handins two_in_zip two_gradescope two_canvas_attempts two_beside \
    roster_names number_and_name classroom_numbers classroom_twins one_address}; do
    mkdir -p "$dir/$case/taken"
    expect "$case: what counts" collect
    [ "$(cat "$dir/$case/ends")" = 2 ] || expect "$case: the files" same_files
    [ ! -s "$dir/$case/skipped" ] || expect "$case: why the others do not count" says_why
done
# late CASE STUDENT DAYS: she alone is late, by so much, and not by what the files say.
late() { [ "$(sed 1d "$dir/$1/out/late.csv")" = "\"$2\",\"01_vector_add\",\"$3\",\"its time\"" ] || { cat "$dir/$1/out/late.csv" && false; }; }
none_late() { [ -z "$(sed 1d "$dir/$1/out/late.csv")" ]; }
if [ -z "${1:-}" ]; then
    expect "moodle_times: days" late moodle_times "Ada Lovelace" 0.05
    expect "classroom_grades: days" late classroom_grades "Ada Lovelace" 0.05
    anna='"Anna Schmidt (u1003@example.org)","01_vector_add","0.42","its time"'
    expect "moodle_copied: days by a clock of 24 hours" grep -qxF "$anna" "$dir/moodle_copied/out/late.csv"
    sed -i "/^\"Anna/d" "$dir/moodle_copied/out/late.csv"
    expect "moodle_copied: days" late moodle_copied "Ada Lovelace" 0.01
    says_who() { grep -qF '"Anna Schmidt" may be two students, and gets a row of its own, "Anna Schmidt (which?)"' "$dir/twins/errors"; }
    for case in worksheet_untimed worksheet_german; do expect "$case: days" late $case "Ada Lovelace" 0.01; done
    for case in mail_due mail_due_one worksheet_french; do
        expect "$case: nobody is late" none_late $case
    done
    expect "teams_times: days" late teams_times "Ada Lovelace" 0.01
    expect "twins: the run says what to write in who.csv" says_who
fi
finish
