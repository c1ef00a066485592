#!/bin/sh
# new.sh: a lesson as `make new` writes it is whole: it grades itself, and all that a lesson has to
# prove holds. usage: new.sh
. grader/test/tell.sh
dir=$(mktemp -d "${TMPDIR:-/tmp}/new lesson.XXXXXX") || exit 1
trap 'rm -rf "$dir"' EXIT
mkdir "$dir/course"
# The tree as it is here, with what is built, and a history of one commit.
copy_course "$dir/course"
cp -rp --parents -t "$dir/course" build/grader build/cpu build/*.a 2>/dev/null
cd "$dir/course" || exit 1
git init -q . && git -c user.name=test -c user.email=test@localhost commit -q --allow-empty -m empty
unset MAKEFLAGS MAKELEVEL SAMPLE # a sample of the wrong kernels would not tell what is idle
new() { make -s new "$@" >"$dir/said" 2>&1; }
refused() { # refused TEXT OPTION...
    text=$1
    shift
    ! new "$@" && grep -q "$text" "$dir/said"
}
expect "new: a number of two digits" refused 'two digits' LESSON=9 NAME=moving_average
expect "new: a name that C takes" refused 'small letters' LESSON=40 NAME=Moving-average
expect "new: not over another lesson" refused 'there already' LESSON=05 NAME=moving_average
expect "new: a lesson is written" new LESSON=40 NAME=moving_average
expect "new: no name of the template is left" sh -c '! grep -r "new_lesson\|NEW_LESSON\|lesson 00" */40_*'
full() { make -s grade LESSON=40 FROM=solutions 2>&1 | grep -q '^Score: 100/100'; }
expect "new: its solution gets 100" full
as_written() { ! make -s test LESSON=40 >"$dir/said" 2>&1 && grep -q 'still as make new wrote it: lessons/40_.*README.md grader/40_.*bench.c' "$dir/said"; }
expect "new: but for its text and its bench, which are to be replaced," as_written
sed -i '/TEMPLATE/d' lessons/40_moving_average/README.md grader/40_moving_average/bench.c
expect "new: it proves all that a lesson has to" make -s test LESSON=40
# ---- what an author may meet on the way
# A check is idle when an item stands in its way: which, is said.
idle=$(find build/test/40_moving_average -name '*.items' | head -n 1)
item=$(head -n 1 "$idle" | cut -d'|' -f1)
other=$("build/grader/40_moving_average/check" --list | grep -vxF "$item" | head -n 1)
for file in build/test/40_moving_average/*.items; do
    awk -v item="$item" -v other="$other" 'index("|" $0 "|", "|" item "|") { $0 = $0 "|" other } { print }' "$file" >"$dir/items"
    cp "$dir/items" "$file"
done
in_the_way() { ! sh grader/test/mutate.sh 40_moving_average >"$dir/said" && grep -F "also fails \"$other\"" "$dir/said"; }
expect "new: an item in the way of another is named" in_the_way
plan() { ! sh grader/test/lesson.sh plan 40_moving_average >"$dir/said" 2>&1 && grep -q "$1" "$dir/said"; }
solution=solutions/40_moving_average/moving_average.cu
cp "$solution" "$dir/solution"
sed -i 's|^    // BEGIN SOLUTION|    int unused = 3;\n&|' "$solution"
make -s exercises >/dev/null 2>&1
expect "new: a variable that the stub does not use is told" plan "unused variable"
cp "$dir/solution" "$solution"
make -s exercises >/dev/null 2>&1
# A patch that no longer fits, and is deleted: nothing of it is left.
patch=grader/40_moving_average/wrong/tail_dropped.patch
sed -i '/^@@/,$d' "$patch"
printf '@@ -40,2 +40,2 @@\n-no such line\n+another line\n no such line\n' >>"$patch"
conflict() { ! make -s wrong LESSON=40 SAVE=tail_dropped >"$dir/said" 2>&1 && grep -q '<<<<<<<' "$dir/said"; }
expect "new: a patch that no longer fits is told" conflict
rm "$patch"
expect "new: deleted, it leaves nothing behind" make -s wrong LESSON=40
no_marks() { ! grep -rl '^<<<<<<<' build/wrong/40_moving_average && [ ! -e build/wrong/40_moving_average/tail_dropped.cu ]; }
expect "new: not even its conflict" no_marks
# A slip that nobody can see is shown as what gets 100, one that everybody sees is not.
sed -i 's|^    // BEGIN SOLUTION|    (void)(7 > 5);\n&|' "$solution"
slips() { SAMPLE="1000 x" make -s mutants LESSON=40 >"$dir/said" 2>&1; }
expect "new: slips are made of its solution" slips
graded() { # graded TEXT: the first slip that leaves such a line
    n=$(cut -f 3 build/mutants/40_moving_average/list | grep -nF -m 1 "$1" | cut -d: -f 1)
    : >build/mutants/40_moving_average/done
    sh grader/test/mutants.sh grade 40_moving_average "$n" >"$dir/said" 2>&1
    cat build/mutants/40_moving_average/done "$dir/said"
}
unseen() { graded '(void)(7 >= 5);' | grep -F -A 1 '100 of 100: line' | grep -qF '(void)(7 > 5);'; }
seen() { graded 'COURSE_BAD_ARGUMENT' | grep -qx rejected; }
expect "new: a slip that changes nothing gets 100, and its line is shown" unseen
expect "new: a slip in the arguments' test is rejected" seen
finish
