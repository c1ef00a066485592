#!/bin/sh
# uploads.sh: a graded class goes back to where it came from: what Canvas and Moodle import, the
# days of those who were late, what a student reads. usage: uploads.sh
. grader/test/tell.sh
need "uploads" python3
dir=$(mktemp -d "${TMPDIR:-/tmp}/uploads test.XXXXXX") || exit 1
trap 'rm -rf "$dir"' EXIT
solution=solutions/01_vector_add/vector_add.cu
out=$dir/out
class() { # class OPTION=VALUE...
    make -s --no-print-directory class SUBMISSIONS="$dir/submissions" ROSTER="$dir/roster.csv" LESSON=01 OUT="$out" "$@" >"$dir/said" 2>&1
}
imports() { # imports KIND WANTED: what the platform would enter
    file=$out/exports/canvas.csv
    [ "$1" = canvas ] || file=$out/exports/moodle.csv
    python3 grader/test/class/imports.py "$1" "$file" >"$dir/entered" && printf %s "$2" | diff - "$dir/entered"
}
said() { grep -q "$1" "$dir/said" || { cat "$dir/said" && false; }; }
quiet_of() { ! grep "$1" "$dir/said"; }

looks() { ! class "$@" && said ' Error 4$' && said "$to_do"; } # looks OPTION=VALUE...: it ends so, and says $to_do

# ---- Canvas: a right kernel, in UTF-16; a late one, of one line; one with another name; nothing
mkdir "$dir/submissions"
iconv -f UTF-8 -t UTF-16 $solution >"$dir/submissions/lovelaceada_18233_2470111_vector_add-1.cu"
tr '\n' '\r' <$solution >"$dir/submissions/weißjürgen_LATE_18234_2470113_vector_add.cu"
cp $solution "$dir/submissions/nobodynora_18235_2470114_my_kernel (2).cu"
cat >"$dir/roster.csv" <<'CSV'
Student,ID,SIS User ID,SIS Login ID,Section,Lesson 1: vector add (4711),Lesson 10 (4712),Final Score
    Points Possible,,,,,10.00,100.00,(read only)
"Lovelace, Ada",18233,s001,ada,Group 1,,,
"Weiß, Jürgen",18234,s002,jw,Group 1,,,
"Nobody, Nora",18235,s003,nn,Group 2,3.00,,
"Excused, Eve",18236,s004,ee,Group 2,EX,,
"Student, Test",99999,,test,Group 1,,,
CSV
to_do='Nora Nobody, lesson 01: handed in: my_kernel (2).cu; wanted: vector_add.cu'
expect "a class from Canvas is graded, and one who has mistaken a name is named" looks
expect "Canvas imports it, as points of its assignment" imports canvas '18233 4711 10
18234 4711 0
18235 4711 0
18236 4711 EX
'
is_excused() {
    grep -q '^"Eve Excused".*"EX","excused; missing","EX"' "$out/gradebook.csv" &&
        grep -qx 'Lesson 01_vector_add: excused; missing' "$out/feedback/Eve Excused.txt" && ! grep Total "$out/feedback/Eve Excused.txt" && said ', 1 excused'
}
expect "who is excused there has no points and no total" is_excused
expect "for Moodle, which wants addresses, there is no table" test ! -e "$out/exports/moodle.csv"
expect "who is late is in late.csv" grep -q '"Jürgen Weiß","01_vector_add","1","marked LATE' "$out/late.csv"
near='handed in: my_kernel (2).cu; wanted: vector_add.cu'
names_it() { for file in gradebook.csv "feedback/Nora Nobody.txt" "exports/gradescope/Nora Nobody.json"; do grep -qF "$near" "$out/$file" || return 1; done; }
expect "what was handed in under another name is named in all that is read" names_it
once() { [ "$(grep -c 'error' "$out/feedback/Jürgen Weiß.txt")" -le 3 ] && ! grep FAIL "$out/feedback/Jürgen Weiß.txt"; }
expect "what does not compile is said once" once
why='does not compile: lines end with a carriage return alone; save the file with line feeds'
says_why() { grep -q "^\"Jürgen Weiß\".*\"0 of 100; $why\"" "$out/gradebook.csv" && said "Jürgen Weiß .* 01: $why"; }
expect "and why there are no points, in the gradebook and in the run's table" says_why
expect "the gradebook has the number of the roster" grep -q '"Ada Lovelace","Ada Lovelace","s001",' "$out/gradebook.csv"
marked() { for file in gradebook.csv late.csv; do [ "$(head -c 3 "$out/$file")" = "$(printf '\357\273\277')" ] || return 1; done; }
expect "and says to a spreadsheet that it is UTF-8" marked
expect "so are the points" grep -qx 'Lesson 01_vector_add: 100 of 100' "$out/feedback/Ada Lovelace.txt"
expect "and those of nothing" grep -qx 'Lesson 01_vector_add: 0 of 100' "$out/feedback/Jürgen Weiß.txt"
no_percent_names() { ! find "$out" -name '*%[0-9A-F]*' | grep . && ! grep '%[0-9A-F][0-9A-F]' "$dir/said" "$out/log.csv"; }
expect "names are as people write them" no_percent_names
moves() { said '(about [0-9]* s left)'; }
expect "what is left of the time is said" moves
# On a terminal it stands beside the progress.
says_left() {
    script -qec "make -s --no-print-directory class SUBMISSIONS='$dir/submissions' ROSTER='$dir/roster.csv' LESSON=01 OUT='$dir/out_tty' JOBS=1" \
        /dev/null >"$dir/terminal" 2>&1
    [ "$(tr '\r' '\n' <"$dir/terminal" | grep -o 'about [0-9]* s left' | sort -u | wc -l)" -ge 1 ] || { cat "$dir/terminal" && false; }
}
if command -v script >/dev/null; then
    expect "and on a terminal" says_left
else
    tell skip "the time left on a terminal" "there is no script (bsdutils)"
fi
cp "$out/late.csv" "$dir/late.csv"
echo 'Ada Lovelace,01,115.5,"found a mistake of ours; and mended it"' >>"$out/overrides.csv"
echo '*,0,50,0,' >>"$out/late_rules.csv"
echo 'Nora Nobody,01,0,"no kernel"' >>"$out/overrides.csv"
expect "an override decides it, and may be a bonus" class
expect "a day is one, and the reason stays" grep -q '"0, 1 day late: 50 %; does not compile' "$out/gradebook.csv"
expect "which Canvas gets" imports canvas '18233 4711 11.55
18234 4711 0
18235 4711 0
18236 4711 EX
'
expect "late.csv is not filled twice" cmp "$dir/late.csv" "$out/late.csv"
echo 'Ada Lovelacy,01,90,"a slip"' >>"$out/overrides.csv"
to_do='record 4 has no effect: there is no student Ada Lovelacy'
expect "an override of nobody is no success" looks
sed -i '$d' "$out/overrides.csv"
expect "one student" class STUDENT='Ada Lovelace'
expect "is said" said 'Ada Lovelace'
expect "and nothing of others" quiet_of 'Nora\|Weiß\|rows\|mean\|look alike\|late hand-ins'

# ---- Moodle: the participants of the course, saved by a spreadsheet; then a grading worksheet
rm -rf "$dir/submissions" "$out"
mkdir -p "$dir/submissions/Ada Lovelace_1001_assignsubmission_file_" "$dir/submissions/Jürgen Weiß_1002_assignsubmission_file_"
(cd "$dir/submissions/Jürgen Weiß_1002_assignsubmission_file_" && echo 'this is no C' >vector_add.cu && touch -d '2026-11-23 06:00' vector_add.cu)
cp $solution "$dir/submissions/Ada Lovelace_1001_assignsubmission_file_/"
touch -d '2026-11-20 23:00' "$dir/submissions/Ada Lovelace_1001_assignsubmission_file_/vector_add.cu"
printf 'First name;Last name;ID number;Email address\r\nAda;Lovelace;18233;ada@example.org\r\nJ\374rgen;Wei\337;18234;jw@example.org\r\nNora;Nobody;;nn@example.org\r\n' >"$dir/roster.csv"
mkdir "$out"
printf 'lesson;grace_days;percent_per_day;least_percent;due\n01;0,5;10;0;2026-11-20 23:59\n' >"$out/late_rules.csv"
expect "a class from Moodle is graded" class
expect "Moodle's grade import takes it" imports moodle 'ada@example.org 01_vector_add 100
jw@example.org 01_vector_add 0
nn@example.org 01_vector_add 0
'
expect "days follow from the time and the date that is due" grep -q '"Jürgen Weiß","01_vector_add","2.26","its time"' "$out/late.csv"
expect "who was in time has none" sh -c "! grep Ada '$out/late.csv'"
expect "and they count from then on" grep -q '"Jürgen Weiß".*2.26 days late: 80 %' "$out/gradebook.csv"
printf 'Jürgen Weiß,01,130,bonus\n' >>"$out/overrides.csv"
expect "a bonus" class
expect "ends at 100 for Moodle, which would refuse all" imports moodle 'ada@example.org 01_vector_add 100
jw@example.org 01_vector_add 100
nn@example.org 01_vector_add 0
'
sed -i '$d' "$out/overrides.csv"
# Canvas gets nobody who is on no roster. Whom of two of one name an override means is not guessed.
mkdir "$dir/submissions/Guest_1003_assignsubmission_file_"
cp $solution "$dir/submissions/Guest_1003_assignsubmission_file_/"
printf 'Nora;Nobody;;nora2@example.org\r\n' >>"$dir/roster.csv"
printf 'wei\303\237 jurgen,01,40,by another spelling\n' >>"$out/overrides.csv"
to_do='not on the roster, so that no export has their points: Guest[.]'
expect "with a guest" looks
expect "whom Canvas does not get" imports canvas 'by name: Lovelace, Ada new: 01_vector_add 100
by name: Nobody, Nora new: 01_vector_add 0
by name: Nobody, Nora new: 01_vector_add 0
by name: Weiß, Jürgen new: 01_vector_add 40
'
printf 'nora nobody,01,50,which?\nWei\303\237,01,1,a slip\nNORA NOBODY,01,60,or which?\n' >>"$out/overrides.csv"
refused() { ! class "$@" && said 'record 3: .* may be two students: "Nora Nobody (nn@example.org)"' && said 'record 5: .* may be two'; }
expect "an override of two is refused" refused
rm -r "$dir/submissions/Guest_1003_assignsubmission_file_" "$out/overrides.csv"
cat >"$dir/roster.csv" <<'CSV'
Identifier,"Full name","Email address",Status,Grade,"Maximum Grade","Grade can be changed","Last modified (submission)","Last modified (grade)","Feedback comments"
"Participant 1001","Ada Lovelace",ada@example.org,"Submitted for grading",,50.00,Yes,"Friday, 20 November 2026, 11:00 PM",-,"- two
lines, ""quoted"""
"Participant 1002","Jürgen Weiß",jw@example.org,"Submitted for grading",,50.00,Yes,"Monday, 23 November 2026, 6:00 AM",-,
CSV
expect "with its grading worksheet" class
expect "whose numbers the gradebook has" grep -q '"Ada Lovelace","Ada Lovelace","1001",' "$out/gradebook.csv"
printf '1002,01,40,by its number\n' >>"$out/overrides.csv"
expect "an override by it" class
expect "counts" grep -q '"Jürgen Weiß".*"40","by its number' "$out/gradebook.csv"
sed -i '$d' "$out/overrides.csv"
expect "and is taken back" class
expect "the assignment takes the worksheet" imports worksheet '1001 grade 50
1002 grade 0
'
as_it_was() { sed 's/"//g' "$dir/roster.csv" | sed 's/,,50.00/,50,50.00/' | sed -n 2,3p >"$dir/was" && sed 's/"//g' "$out/exports/moodle.csv" | sed -n 2,3p | diff "$dir/was" -; }
expect "which is as it was, but for the grade" as_it_was

# ---- a roster of one's own, whose students are numbers; a Classroom's identifiers
rm -rf "$dir/submissions" "$out"
mkdir -p "$dir/submissions/Ada Lovelace"
cp exercises/01_vector_add/vector_add.cu "$dir/submissions/Ada Lovelace/"
printf 'student;name;email\n0018233;Lovelace, Ada;ada@example.org\n' >"$dir/roster.csv"
expect "a class of numbers and names is graded" class
own_numbers() { grep -q '"0018233"' "$out/gradebook.csv" && grep -q '"Lovelace, Ada","","0018233","ada@' "$out/exports/canvas.csv"; }
expect "whose numbers Canvas gets" own_numbers
rm -rf "$dir/submissions/Ada Lovelace" "$out"
mkdir -p "$dir/submissions/annas" "$dir/submissions/schmidt-a"
for user in annas schmidt-a; do cp exercises/01_vector_add/vector_add.cu "$dir/submissions/$user/"; done
cat >"$dir/roster.csv" <<'CSV'
"identifier","github_username","github_id","name"
"0007001","annas","1","Anna Schmidt"
"0007002","schmidt-a","2","Anna Schmidt"
CSV
expect "so is a Classroom" class
identifiers() {
    for n in 0007001 0007002; do
        grep -q "\"$n\"" "$out/gradebook.csv" && grep -q "^\"Schmidt, Anna\",\"\",\"$n\"," "$out/exports/canvas.csv" || return 1
    done
}
expect "whose identifiers tell two of one name apart" identifiers

# ---- Gradescope: its numbers, for Canvas and Moodle
rm -rf "$dir/submissions" "$out"
mkdir -p "$dir/submissions/submission_1"
cp exercises/01_vector_add/vector_add.cu "$dir/submissions/submission_1/"
printf 'submission_1:\n  :submitters:\n  - :name: Ada L\n    :sid: "007"\n    :email: ada@example.org\n' >"$dir/submissions/submission_metadata.yml"
printf 'First Name,Last Name,SID,Email,Sections\nAda,Lovelace,007,ada@example.org,\n' >"$dir/roster.csv"
expect "a class from Gradescope is graded" class
sid() { grep -q '"007"' "$out/gradebook.csv" && grep -q '"Ada","Lovelace","007","ada@' "$out/exports/moodle.csv" && grep -q '"Lovelace, Ada","","007","ada@' "$out/exports/canvas.csv"; }
expect "and every table has its number" sid
expect "with the same seed again" class
expect "which the run says" said 'the seed of the run before'

# ---- Two lessons: the total is the mean of their points, by weight. Nobody hands in lesson 02.
weighed() { # weighed WEIGHTS TOTAL: with these lines in weights.csv
    printf 'lesson,weight\n%b' "$1" >"$out/weights.csv"
    class LESSON=01,02
    grep -q "^Total: $2 %\$" "$out/feedback/Ada Lovelace.txt" || { cat "$out/feedback/Ada Lovelace.txt" && false; }
}
class LESSON=01,02
echo '007,01,100,"graded by hand"' >>"$out/overrides.csv"
expect "lessons weigh the same" weighed '' 50
expect "unless weights.csv says more" weighed '01,3\n' 75
expect "or nothing of one" weighed '01,0.5\n02,0\n' 100
weightless() { printf 'lesson,weight\n01,-1\n' >"$out/weights.csv" && ! class LESSON=01,02 && said '"-1" is no number from 0 to'; }
expect "a weight below 0 is refused" weightless
# ---- answers in UTF-16, as Notepad saves them, are read; what a student graded at home is found
rm -rf "$dir/submissions" "$out"
mkdir -p "$dir/submissions/Ada"
iconv -f UTF-8 -t UTF-16 solutions/21_flop_counting/answers.txt >"$dir/submissions/Ada/answers.txt"
expect "answers in UTF-16 are graded" class LESSON=21 ROSTER=
expect "100" grep -q '^"Ada".*"100","100 of 100"' "$out/gradebook.csv"
replayed() {
    make -s --no-print-directory grade LESSON=21 FILE="$dir/submissions/Ada/answers.txt" FORMAT=json >"$dir/mine.json" && class LESSON=21 ROSTER= REPLAY="$dir/mine.json" && said 'The same grade'
}
expect "as at home" replayed
finish
