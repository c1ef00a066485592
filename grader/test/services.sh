#!/bin/sh
# services.sh: what leaves the course for others: the student edition, the Gradescope autograder in
# the layout the service gives it, GitHub Classroom's workflow, and the report on similar
# submissions. SAMPLE="96 WORD" in the environment: where a grader is built again for these, it is
# in one week of four, drawn by WORD. usage: services.sh
. grader/test/tell.sh
need "services" zip unzip sim_c /usr/bin/jsonschema
dir=$(mktemp -d "${TMPDIR:-/tmp}/services test.XXXXXX") || exit 1
trap 'rm -rf "$dir"' EXIT
solution=$(pwd)/solutions/05_tiled_matmul/tiled_matmul.cu
export COURSE_WITHOUT_NVCC=1 # what it says is no part of a grade, and takes as long

# built FOLDER: what is built here, for a copy of the course; objects are equal in every clone. All
# of one time: what is touched later than what is made of it is built again.
built() {
    drawn "services ${1##*/}" 24 || {
        mkdir -p "$1/build" && cp -rp build/grader build/cpu build/*.a "$1/build/" && find "$1/build" -type f -exec touch -d "$(date +@%s.%N)" {} +
    }
}

# ---- the student edition
expect "a handout is made" env OUT="$dir/handout" make -s handout
expect "what is built serves it" built "$dir/handout"
mkdir "$dir/folder"
other_is_refused() { ! OUT="$dir/folder" make -s handout 2>"$dir/said" && grep -q 'is no student edition' "$dir/said"; }
expect "not into any other folder" other_is_refused
nothing_secret() {
    hidden=$(cd "$dir/handout" && git ls-files | grep -E '^solutions/|/(wrong|right|test)/|/answers.md$|INSTRUCTORS|[.]after[.]csv$|/cures_' | head -n 3)
    [ -z "$hidden" ] || { echo "$hidden" && false; }
}
expect "it has no solution and no kernel that is graded" nothing_secret
# Of lesson 21 the check knows the answers, and the edition says so. Hints apart, no text has them.
tells_of_21() {
    grep -q 'questions.h' "$dir/handout/README.md" && [ -e "$dir/handout/grader/21_flop_counting/questions.h" ] || return 1
    sed -n 's/^\([a-z0-9_]* = .*[^ ]\)  *\/\/ SOLUTION$/\1/p' solutions/21_flop_counting/answers.txt >"$dir/answers"
    [ "$(wc -l <"$dir/answers")" = 24 ] && ! grep -rlFf "$dir/answers" --exclude=hints.md --exclude-dir=.git "$dir/handout"
}
expect "what it holds of lesson 21 it says" tells_of_21
tells_of_23() {
    grep -q 'recorded.h' "$dir/handout/README.md" && [ -e "$dir/handout/grader/23_profiling/recorded.h" ] &&
        [ -e "$dir/handout/plots/data/nvidia-h200/23_profiling.counters.csv" ]
}
expect "and of lesson 23, which has the tables before the cure" tells_of_23
in_handout() { (cd "$dir/handout" && unset MAKEFLAGS MAKELEVEL && "$@"); }
right_is_100() {
    in_handout cp "$solution" exercises/05_tiled_matmul/tiled_matmul.cu && in_handout make -s grade LESSON=05
}
expect "it grades a right kernel 100" right_is_100
hints_at_nothing() { # after full marks
    in_handout make -s hint LESSON=05 >"$dir/said" && grep -q 'homework questions' "$dir/said" && ! grep -q solution "$dir/said"
}
expect "no hint leads to a solution" hints_at_nothing
in_handout git checkout -q exercises
stub_is_0() { in_handout make -s grade LESSON=05 2>&1 | grep -q '^Score: 0/100'; }
expect "and its exercise 0" stub_is_0
resets() {
    (cd "$dir/handout" && cp "$solution" exercises/05_tiled_matmul/tiled_matmul.cu && make -s reset LESSON=05 &&
        git diff --quiet)
}
expect "make reset gives the exercise again" resets

says_so() { # says_so TEXT COMMAND...: the command fails there with this text, and the first line is all of it
    text=$1
    shift
    ! in_handout "$@" >"$dir/said" 2>&1 && head -n 1 "$dir/said" | grep -q "$text"
}
for command in 'grade LESSON=05 FROM=solutions' 'wrong LESSON=05' exercises 'test LESSON=05' handout; do
    # shellcheck disable=SC2086  # words
    expect "make $command says what edition it is" says_so 'This is the student edition' make -s $command
done
expect "so does its README" grep -q 'This is the student edition' "$dir/handout/README.md"

# ---- renewed: a student has edited an exercise, committed or not; the course changes it and others
student=$dir/student
git clone -q "$dir/handout" "$student"
mine='// my work'
echo "$mine" >>"$student/exercises/05_tiled_matmul/tiled_matmul.cu"
echo "$mine" >>"$student/exercises/02_transpose/transpose.cu"
as_student() { (cd "$student" && unset MAKEFLAGS MAKELEVEL && "$@"); }
as_student git -c user.name=s -c user.email=s@s commit -q -m "my work" exercises/02_transpose
# What is not committed yet is handed out, too: this tree, as a repository of its own.
mkdir "$dir/course"
copy_course "$dir/course"
renew() {
    (cd "$dir/course" && unset MAKEFLAGS MAKELEVEL && git add -A &&
        git -c user.name=t -c user.email=t@t commit -q --allow-empty -m now && OUT="$dir/handout" make -s handout)
}
git init -q "$dir/course"
expect "the same course again" renew
one_commit() { [ "$(git -C "$dir/handout" rev-list --count HEAD)" = 1 ]; }
expect "is nothing new" one_commit
echo "the instructor's" >"$dir/handout/notes.txt"
not_over_changes() { ! renew >"$dir/said" 2>&1 && grep -q 'not committed' "$dir/said"; }
expect "what is not committed there is not written over" not_over_changes
git -C "$dir/handout" add -A
git -C "$dir/handout" -c user.name=i -c user.email=i@i commit -q -m "A note"
for lesson in 02_transpose 03_reduction 05_tiled_matmul; do
    sed -i '1i // A line of the new version.' "$dir/course/solutions/$lesson/${lesson#*_}.cu"
done
rm "$dir/course/LICENSE"
expect "a changed course renews it" renew
expect "by a commit of its own" test "$(git -C "$dir/handout" rev-list --count HEAD)" = 3
renewed() { [ -e "$dir/handout/notes.txt" ] && [ ! -e "$dir/handout/LICENSE" ]; }
expect "what is no more is gone, what the instructor added is not" renewed
as_student git config user.name s
as_student git config user.email s@s
expect "a student's make update" as_student make -s update
new() { head -n 1 "$student/exercises/$1" | grep -q 'new version'; }
kept() { grep -qF "$mine" "$student/exercises/$1" && ! new "$1"; }
expect "keeps an edit" kept 05_tiled_matmul/tiled_matmul.cu
expect "and one that is committed" kept 02_transpose/transpose.cu
expect "and brings the rest" new 03_reduction/reduction.cu
for lesson in 02 05; do expect "make reset of lesson $lesson" as_student make -s reset LESSON=$lesson; done
untouched() { new "$1" && ! grep -qF "$mine" "$student/exercises/$1"; }
expect "gives the new exercise for the one" untouched 05_tiled_matmul/tiled_matmul.cu
expect "and for the other" untouched 02_transpose/transpose.cu

# ---- graded homework: the edition and the decks do not give it away; the edition after it does
homework=$dir/homework
graded() { OUT="$homework" make -s handout "$@" >"$dir/said" 2>&1 || { cat "$dir/said" && false; }; }
expect "an edition with graded homework" graded GRADED=14,17,21
formula='14 \* B \* H \* N_q'
expect "the course's hints have an answer of lesson 21" grep -q "$formula" lessons/21_flop_counting/hints.md
no_lines() {
    ! grep -q "$formula" "$homework/lessons/21_flop_counting/hints.md" && ! grep -q '^## 3' "$homework/lessons/17_gqa/hints.md" &&
        grep -q '^## 2' "$homework/lessons/17_gqa/hints.md" && grep -q '^## 3' "$homework/lessons/19_block_sparse/hints.md"
}
expect "its hints do not name the line" no_lines
expect "nor its headers" test ! -e "$homework/lessons/flash_tile.h"
expect "and what waits for them is said" grep -q 'flash_tile.h holds what lesson 14 asks for.* 18' "$dir/said"
stored() { [ "$(cut -c 1-2 "$homework/lessons/graded.txt" | tr '\n' ' ')" = "14 17 21 " ] && grep -q 'Graded homework is 14, 17, 21:' "$homework/README.md"; }
expect "which it is, the edition says" stored
in_homework() { (cd "$homework" && unset MAKEFLAGS MAKELEVEL && "$@"); }
two_levels() {
    for _ in 1 2 3; do in_homework make -s hint LESSON=17 CAUSE=head_mapping || return 1; done >"$dir/said"
    grep -q 'Hint 1 of 2' "$dir/said" && [ "$(grep -c 'Hint 2 of 2' "$dir/said")" = 2 ] && ! grep -q 'Hint . of 3' "$dir/said"
}
expect "make hint has two levels of it" two_levels
expect "the edition after the date" graded
all_again() { [ -e "$homework/lessons/flash_tile.h" ] && grep -q "$formula" "$homework/lessons/21_flop_counting/hints.md" && [ ! -e "$homework/lessons/graded.txt" ]; }
expect "has it all again" all_again
unknown() { ! OUT="$dir/no" make -s handout GRADED=17,99 2>"$dir/said" && grep -q 'there is no lesson 99' "$dir/said" && [ ! -e "$dir/no" ]; }
expect "an unknown lesson is refused" unknown
if command -v pandoc >/dev/null; then
    deck() { # deck OPTION...: the presenter's deck 8; not printed
        CHROMIUM=none OUT="$dir/slides" make -s slides DECK=8 "$@" >"$dir/said" 2>&1 && sed 's/<[^>]*>//g' "$dir/slides/08_variants.html" >"$dir/deck"
    }
    shows() { for words in 'walk_queries&lt;' 'ballot_sync(' 'five are 10'; do grep -qF "$words" "$dir/deck" || return 1; done; }
    expect "deck 8 is made" deck
    expect "it shows code of lessons 17 and 19, and answers of 21" shows
    expect "deck 8 for graded homework is made" deck GRADED=17,19,21
    hides() { ! grep -E 'walk_queries&lt;|ballot_sync\(|five are 10' "$dir/deck" && grep -q 'is graded homework' "$dir/deck"; }
    expect "it shows none" hides
else
    tell skip "decks for graded homework" "there is no pandoc (sh setup.sh --dev)"
fi

# ---- Gradescope: /autograder/source is the zip, /autograder/submission what was handed in
echo "a secret of this test" >"$dir/secret"
packed=build/gradescope_05.zip
expect "an autograder is packed" env SECRET="$dir/secret" make -s gradescope LESSON=05
expect "for its owner only, since it holds the secret" test "$(stat -c %a $packed)" = 600
expect "where git does not see it" git check-ignore -q $packed
keeps_secret() { ! make -s gradescope LESSON=05 2>"$dir/said" && grep -q 'holds a secret' "$dir/said" && zip -sf $packed | grep -qx ' *secret'; }
expect "and one without a secret does not take its place" keeps_secret
expect "or where it is wanted" env OUT="$dir/a.zip" SECRET="$dir/secret" make -s gradescope LESSON=05
expect "for its owner as well" test "$(stat -c %a "$dir/a.zip")" = 600
mkdir -p "$dir/autograder/source" "$dir/autograder/submission"
unzip -q "$dir/a.zip" -d "$dir/autograder/source"
expect "what is built serves it, too" built "$dir/autograder/source/course"
autograde() { # autograde SUBMISSION: what the service does in an image that its setup.sh has made
    cp "$dir/secret" "$dir/autograder/source/secret"
    cp "$1" "$dir/autograder/submission/tiled_matmul.cu"
    env -i PATH="$PATH" HOME="$HOME" AUTOGRADER="$dir/autograder" "$dir/autograder/source/run_autograder" >"$dir/said" 2>&1
    /usr/bin/jsonschema -i "$dir/autograder/results/results.json" grader/test/class/gradescope.schema.json
}
score_is() { grep -q "^  \"score\": $1," "$dir/autograder/results/results.json" || { cat "$dir/said" && false; }; }
expect "a right kernel is graded there" autograde "$solution"
expect "100" score_is 100.0
expect "the secret is gone before" test ! -e "$dir/autograder/source/secret"
expect "and has drawn the seed" grep -q 'secret seed' "$dir/said"
mkdir "$dir/autograder/submission/old"
cp solutions/05_tiled_matmul/steps/1_coalesced.cu "$dir/autograder/submission/old/tiled_matmul.cu"
expect "one is that has to be looked at, for another file beside it" autograde "$solution"
expect "100, too" score_is 100.0
rm -r "$dir/autograder/submission/old"
expect "a hostile one is graded there" autograde grader/test/exploits/kills_parent.cu
expect "0" score_is 0.0
without_grader() {
    rm -rf "$dir/autograder/source/course/grader" "$dir/autograder/results"
    AUTOGRADER="$dir/autograder" "$dir/autograder/source/run_autograder" >/dev/null 2>&1
    /usr/bin/jsonschema -i "$dir/autograder/results/results.json" grader/test/class/gradescope.schema.json
}
expect "a broken autograder still leaves a result" without_grader

# ---- GitHub Classroom: the shell of the workflow's step, run in the student edition
workflow() {
    awk '/^        run: \|/ { on = 1; next } on && /^      - / { on = 0 } on { sub(/^          /, ""); print }' \
        grader/class/classroom.yml >"$dir/step.sh"
    # no sudo on a machine where this is root already
    [ "$(id -u)" != 0 ] || sed -i 's/sudo //' "$dir/step.sh"
    cp "$solution" "$dir/handout/exercises/05_tiled_matmul/tiled_matmul.cu"
    in_handout env LESSON=05 GITHUB_OUTPUT="$dir/output" GITHUB_STEP_SUMMARY="$dir/summary" sh -e "$dir/step.sh" &&
        [ "$(wc -l <"$dir/output")" = 1 ] && sed 's/^result=//' "$dir/output" | base64 -d >"$dir/result.json" &&
        /usr/bin/jsonschema -i "$dir/result.json" grader/test/class/classroom.schema.json &&
        grep -q '"max_score":100' "$dir/result.json" && ! grep 'as it was handed out' "$dir/summary"
}
if [ "$(id -u)" = 0 ] || sudo -n true 2>/dev/null; then
    expect "Classroom's step leaves one line with a whole result" workflow
else
    tell skip "Classroom's step" "it needs sudo"
fi

# ---- similar submissions: one is another with its names, blanks and comments changed
alike=$dir/alike/submissions
mkdir -p "$alike/ann" "$alike/ben" "$alike/cleo"
kernel=12_flash_forward.cu
cp solutions/12_flash_forward/flash_forward.cu "$alike/ann/$kernel"
sed -e 's/\bacc\b/total/g; s/\bm_new\b/top/g; s/\balpha\b/shrink/g; s/\bscore\b/value/g' -e 's|//.*||' -e 's/    /\t/g' \
    solutions/12_flash_forward/flash_forward.cu >"$alike/ben/$kernel"
cp solutions/12_flash_forward/steps/1_*.cu "$alike/cleo/$kernel"
expect "similar submissions are looked for" sh grader/class/similar.sh "$dir/alike"
expect "a copy with other names is told" grep -Eq '(ann +and +ben|ben +and +ann)' "$dir/alike/similar.txt"
other_is_not() { ! grep cleo "$dir/alike/similar.txt"; }
expect "another design is not" other_is_not
# The copy comes first, in UTF-16. A third one has the same file as the second.
mkdir "$alike/zoe, jr"
iconv -f UTF-8 -t UTF-16 "$alike/ben/$kernel" >"$dir/copy"
cp "$alike/ann/$kernel" "$alike/zoe, jr/$kernel"
mv "$alike/ann/$kernel" "$alike/ben/$kernel"
mv "$dir/copy" "$alike/ann/$kernel"
larger_is_told() {
    sh grader/class/similar.sh "$dir/alike" && grep -Eq '^[ 0-9]+ %  12_flash_forward  (ann  and  ben, zoe, jr|ben, zoe, jr  and  ann)$' "$dir/alike/similar.txt" &&
        grep -qx '100 %  12_flash_forward  ben  and  zoe, jr  (the same file)' "$dir/alike/similar.txt" && [ "$(wc -l <"$dir/alike/similar.txt")" = 3 ]
}
expect "a copy is told whose row comes first, those with the same file on one line" larger_is_told
rm -r "$alike/zoe, jr"
mv "$alike/ben/$kernel" "$alike/ann/$kernel"
# An instructor who has solved the exercise: what is given is the exercise, not what stands in
# exercises/ now.
cp "$alike/ann/$kernel" "$alike/ben/$kernel"
copy_is_told() {
    (cd "$dir/course" && cp "solutions/${kernel%.cu}/flash_forward.cu" "exercises/${kernel%.cu}/" &&
        sh grader/class/similar.sh "$dir/alike") && grep -Eq '^100 %.*(ann +and +ben|ben +and +ann)' "$dir/alike/similar.txt"
}
expect "a copy is told, whatever exercises/ holds" copy_is_told
finish
