#!/bin/sh
# class.sh: a class with every kind of submission, graded by `make class`: every row has exactly its
# points, nothing is left running, a run that was killed goes on, and every export is what its
# readers take. Then the same class on a Slurm cluster of one node (as root, with slurm-wlm), where
# a task is killed and the node drained: the same items, point by point; with SAMPLE="96 WORD" in
# one week of four, drawn by WORD.
# usage: class.sh [COUNT]      so many submissions; 26, the usual number, are one of each kind
. grader/test/tell.sh
count=${1:-26}
need "class" zip xmllint prove /usr/bin/jsonschema
dir=$(mktemp -d "${TMPDIR:-/tmp}/class test.XXXXXX") || exit 1
slurm=
trap '[ -z "$slurm" ] || sh grader/test/class/slurm.sh stop "$slurm"; rm -rf "$dir" "$slurm"' EXIT
trap 'exit 130' INT TERM HUP
sh grader/test/class/submissions.sh "$dir" "$count" || exit 1
echo "a secret of this test" >"$dir/secret"
chmod 600 "$dir/secret"
out=$dir/out
class() { # class OPTION=VALUE...
    make -s --no-print-directory class SUBMISSIONS="$dir/submissions" ROSTER="$dir/roster.csv" LESSON=05 \
        SECRET="$dir/secret" OUT="$out" "$@" >"$dir/said" 2>&1
}
# rows: ID|POINTS|NOTE of the gradebook, as submissions.sh writes what it expects
rows() {
    awk -F'","' 'NR > 1 { print $2 "|" $6 "|" $7 }' "$out/gradebook.csv" | LC_ALL=C sort
}
same_rows() {
    # The * of a note stands for words: it takes the place of the row's.
    rows | LC_ALL=C awk -F'|' 'NR == FNR { if (sub(/[*]$/, "")) begins[$1] = $0; next }
        ($1 in begins) && index($0, begins[$1]) == 1 && length($0) > length(begins[$1]) { $0 = begins[$1] "*" } { print }' \
        "$dir/expected" - | diff "$dir/expected" -
}
said() { grep -q "$1" "$dir/said" || { cat "$dir/said" && false; }; }
fails_with() { # fails_with TEXT COMMAND...
    text=$1
    shift
    "$@" && return 1
    said "$text"
}

# Killed at any point: what was graded is kept.
make -s --no-print-directory ready "$build/class"
SUBMISSIONS=$dir/submissions ROSTER=$dir/roster.csv LESSON=05 SECRET=$dir/secret OUT=$out \
    "$build/class" 05_tiled_matmul >"$dir/said" 2>&1 &
run=$! tries=0
until [ -n "$(find "$out/results" -name '*.json' 2>/dev/null)" ] || [ $tries = 600 ]; do
    tries=$((tries + 1))
    sleep 0.2
done
kill -9 $run
wait
kept=$(find "$out/results" -name '*.json' 2>/dev/null | wc -l)
expect "a run of $count is killed after $kept" test "$kept" -gt 0
expect "nothing runs on after it" no_survivor
class
expect "it goes on from there" said " $(($(wc -l <"$out/jobs"))) files to grade"
expect "with time for as many as share the machine" grep -q "\"at_once\": $(nproc)\$" "$out/settings.json"
expect "and grades no file again" test "$(($(wc -l <"$out/jobs") + kept))" -le "$(find "$out/submissions" -type f | wc -l)"
expect "every row has its points" same_rows
expect "nothing is left running" no_survivor
expect "nothing is left in /tmp" sh -c '! ls -d /tmp/class_escape* 2>/dev/null'
class
expect "a second run has nothing to grade" said " 0 files to grade"
says_no_change() { ! grep -q "Changed since" "$dir/said"; }
expect "and says that nothing changed" says_no_change

# The one result, in every format
mkdir "$dir/json"
of_schema() { # of_schema NAME FOLDER: every .json in it
    find "$2" -name '*.json' -printf '-i\0%p\0' | xargs -0 /usr/bin/jsonschema "grader/test/class/$1.schema.json"
}
validate() {
    xmllint --noout --schema grader/test/class/junit.xsd "$out/exports/junit.xml" || return 1
    of_schema gradescope "$out/exports/gradescope" || return 1
    for file in "$out"/exports/classroom/*.txt; do
        base64 -d "$file" >"$dir/json/$(basename "$file").json" || return 1
    done
    of_schema classroom "$dir/json"
}
expect "every export is valid" validate
# Each is UTF-8, and no character of it is obeyed by a terminal or turns the text around it.
is_plain() {
    for file in "$out"/gradebook.csv "$out"/log.csv "$out"/feedback/* "$out"/exports/*/* "$out"/exports/junit.xml; do
        iconv -f UTF-8 -t UTF-8 "$file" >"$dir/utf8" || { echo "$file" && return 1; }
        ! LC_ALL=C.UTF-8 grep -P '[\x00-\x08\x0b-\x1f\x7f-\x{9f}\x{202a}-\x{202e}\x{fffe}]' "$dir/utf8" || return 1
    done
}
expect "and is plain text" is_plain
# prove fails where a test fails; it must find no line that is not TAP.
is_tap() { ! prove --exec cat "$out"/exports/tap/*.tap 2>&1 | grep -E "Parse errors|Bad plan|YAML"; }
expect "TAP is TAP" is_tap
totals() { # every format has the same total
    while IFS='|' read -r id points _; do
        id=${id#\'}
        sum=$(sed -n 's/^  "score": \([0-9.]*\),$/\1/p' "$out/exports/gradescope/$id.json")
        awk -v a="$sum" -v b="$points" 'BEGIN { exit !(a == b) }' || { echo "Gradescope: $id $sum, not $points" && return 1; }
        sum=$(sed 's/[,{]/\n/g' "$dir/json/$id.05_tiled_matmul.txt.json" | sed -n 's/^"score"://p' | awk '{ s += $1 } END { print s + 0 }')
        [ "$sum" = "$points" ] || { echo "Classroom: $id $sum, not $points" && return 1; }
        sum=$(sed -n 's/^  points: //p' "$out/exports/tap/$id.tap" | awk '{ s += $1 } END { print s + 0 }')
        [ "$sum" = "$points" ] || { echo "TAP: $id $sum, not $points" && return 1; }
    done <"$dir/expected"
}
expect "and the same total" totals
# shellcheck disable=SC2016  # the $ are awk's
expect "no cell of the gradebook is a formula" awk -F'","' '{ sub(/^"/, "") } /^[=+@-]/ { exit 1 }' "$out/gradebook.csv"
# What the student learns: what was wrong, likely why, and what the compiler said; nothing of this
# machine.
explains() {
    grep -q 'likely cause: .* \[too_much_read\]' "$out/feedback/naive004.txt" &&
        grep -q 'likely cause: .* \[too_much_read\]' "$out/exports/gradescope/naive004.json" &&
        grep -q ': error: ' "$out/feedback/broken006.txt" && grep -q ': error: ' "$out/exports/gradescope/broken006.json" &&
        grep -q ': error: ' "$dir/json/broken006.05_tiled_matmul.txt.json"
}
expect "the feedback says why" explains
lasts() {
    for file in "$out"/feedback/endless* "$out"/feedback/talks*; do
        [ ! -e "$file" ] || grep -q '\[endless_loop\]' "$file" || return 1
    done
}
expect "of what has no end, too" lasts
names_no_path() { ! grep -rlF -e "$dir" -e "$(pwd)" "$out/feedback" "$out/exports" "$dir/json"; }
expect "and names no path of this machine" names_no_path
expect "OUT is for its owner" test "$(stat -c %a "$out")" = 700

cp -r "$out/results" "$dir/results" # as they were before anything is changed by hand

# What an instructor decides
printf "right000,05,40,handed in a neighbour's file f\374r \344hnliches\n" >>"$out/overrides.csv"
echo "zip007,5,3" >>"$out/late.csv"
echo "tiled_matmul,1,10,50" >>"$out/late_rules.csv"
class
expect "an override counts" grep -q '"right000","right000".*"40","handed in a neighbour' "$out/gradebook.csv"
expect "so does a late rule" grep -q '"zip007".*"80","100, 3 days late: 80 %"' "$out/gradebook.csv"
expect "what changed is said" said 'right000 .* 100 -> 40'
expect "and logged" grep -q '"right000","05_tiled_matmul","100","40","handed in' "$out/log.csv"
expect "and is in the exports" grep -q '"score": 80' "$out/exports/gradescope/zip007.json"
expect "a reason that is no UTF-8 spoils no export" validate
echo "right000,05,40,well, late" >>"$out/overrides.csv"
expect "a line with too many fields is refused" fails_with "more fields" class
sed -i '$d' "$out/overrides.csv"
echo "right000,05,40," >>"$out/overrides.csv"
expect "an override without a reason is refused" fails_with "needs a reason" class
sed -i '$d' "$out/overrides.csv"
echo "right000,05,0x28,a number of programmers" >>"$out/overrides.csv"
expect "so are points that are no plain number" fails_with '"0x28" is no number' class
sed -i '$d' "$out/overrides.csv"
echo "05,0,10,0,2026-02-31 12:00" >>"$out/late_rules.csv"
expect "and a day that there is not" fails_with 'is no time like' class DRY=yes
sed -i '$d' "$out/late_rules.csv"
cp "$out/settings.json" "$dir/settings" && head -c 20 "$dir/settings" >"$out/settings.json"
expect "a seed that is lost is told" fails_with 'which holds the seed' class SECRET= DRY=yes
cp "$dir/settings" "$out/settings.json"
# One student, one item
expect "one student alone" class STUDENT=out009
expect "is one file" said '^1 files to grade'
expect "one item alone" class STUDENT=tar008 ITEM='sizes of 0'
expect "keeps the others" grep -q '"tar008".*"100","100 of 100"' "$out/gradebook.csv"
expect "an item that there is not" fails_with "no item's name" class ITEM=nonsense
mkdir "$dir/aside"
mv "$dir/submissions"/twice* "$dir/aside/"
class
mv "$dir/aside"/twice* "$dir/submissions/"
gone() { [ -z "$(find "$out/submissions" "$out/feedback" "$out/exports" -name 'twice*')" ]; }
expect "who is gone leaves nothing" gone
expect "nobody of that name" fails_with 'nobody is called so' class STUDENT=nobody
# A student's own grade
"$build/grader/05_tiled_matmul/check" exercises/05_tiled_matmul/tiled_matmul.cu --format json --seed 42 >"$dir/theirs.json"
expect "a student's grade is replayed" class REPLAY="$dir/theirs.json"
expect "and is the same" said 'The same grade'
sed '0,/"points": 0/s//"points": 9/' "$dir/theirs.json" >"$dir/forged.json"
expect "a forged one is told" fails_with 'theirs: 9/10' class REPLAY="$dir/forged.json"
sed 's/"seed": "42"/"seed": "42\\u009b31m"/' "$dir/theirs.json" >"$dir/forged.json"
expect "a seed that is no number is refused" fails_with 'its seed, 42??31m, is no number' class REPLAY="$dir/forged.json"
expect "what is no result is refused" fails_with 'is no result' class REPLAY=README.md
mkdir "$dir/two"
cp solutions/05_tiled_matmul/tiled_matmul.cu "$dir/two/ada.cu"
awk -f grader/make/cut.awk "$dir/two/ada.cu" >"$dir/two/bob.cu"
class SUBMISSIONS="$dir/two" ROSTER= OUT="$dir/out_two"
expect "the median of two is between them" said 'mean 50.0, median 50,'
# Archives are read behind the wall: in a network of its own, where nobody else is.
mkdir "$dir/bomb"
cp "$dir"/submissions/bomb*.tar.xz "$dir/bomb/"
class SUBMISSIONS="$dir/bomb" ROSTER= OUT="$dir/out_bomb" &
apart='' tries=0
until [ -n "$apart" ] || [ $tries = 200 ]; do
    # shellcheck disable=SC2013  # a number each
    for pid in $(grep -lsz '^archive$' /proc/[0-9]*/cmdline | cut -d/ -f3); do
        net=$(readlink "/proc/$pid/ns/net") && [ "$net" != "$(readlink /proc/self/ns/net)" ] && apart=yes
    done
    tries=$((tries + 1))
    sleep 0.05
done
wait
expect "an archive is read apart from everything" test "$apart" = yes
# Refusals
chmod 644 "$dir/secret"
expect "a secret that others can read is refused" fails_with 'chmod 600' class
chmod 600 "$dir/secret"
mkdir -m 755 "$dir/home" && touch "$dir/home/mine"
expect "OUT is no folder with other things" fails_with 'is no folder of a class' class OUT="$dir/home"
expect "which stays as it was" test "$(stat -c %a "$dir/home")" = 755
expect "nor a file" fails_with 'is no folder of a class' class OUT="$dir/home/mine"
expect "JOBS is a number" fails_with 'JOBS=3x: a number' class JOBS=3x
expect "OUT inside SUBMISSIONS is refused" fails_with 'inside SUBMISSIONS' class OUT="$dir/submissions/out"
rm -rf "$dir/submissions/out"
expect "SUBMISSIONS inside OUT is refused" fails_with 'inside OUT' class SUBMISSIONS="$out/submissions"
expect "a lesson of the gradebook is not left out" fails_with 'LESSON=03,05 keeps them' class LESSON=03
expect "an unknown lesson is refused" fails_with 'there is no lesson 99' class LESSON=99
expect "an empty folder is refused" fails_with 'nothing is in it' sh -c "mkdir '$dir/none' && make -s class LESSON=05 SUBMISSIONS='$dir/none' OUT='$dir/out2' >'$dir/said' 2>&1"

# ---- Slurm
if ! command -v slurmctld >/dev/null || [ "$(id -u)" != 0 ]; then
    tell skip "the class on Slurm" "needs slurm-wlm and munge (sh setup.sh --dev), and root"
    finish
    exit
fi
drawn slurm 24 || {
    tell ok "the class on Slurm is not drawn"
    finish
    exit
}
slurm=$(mktemp -d /tmp/slurm.XXXXXX) # Slurm takes no path with a blank
sh grader/test/class/slurm.sh start "$slurm" >"$dir/said" 2>&1 || {
    tell skip "the class on Slurm" "no cluster starts on this machine: $(tail -n 1 "$dir/said")"
    finish
    exit
}
SLURM_CONF=$slurm/slurm.conf out=$dir/out_slurm
export SLURM_CONF
class ENGINE=slurm &
run=$!
# Tasks are killed while they run, and the node drained until nothing runs on it.
killed=0 tries=0
until [ $killed -ge 3 ] || [ $tries = 100 ]; do
    for task in $(squeue --noheader --states=RUNNING --format=%i); do
        scancel "$task" && killed=$((killed + 1))
    done
    tries=$((tries + 1))
    sleep 0.3
done
node=$(sinfo --noheader --format=%n)
scontrol update nodename="$node" state=drain reason=test
sleep 5
expect "the class waits for a drained node" kill -0 $run
scontrol update nodename="$node" state=resume
wait $run
expect "a class on Slurm ends as here" said ' Error 4$'
expect "what left nothing was submitted again" said 'again, which left nothing'
expect "every row has its points there" same_rows
items() { # the items of every result in a folder
    (cd "$1" && grep -rhE '^      "(name|points|outcome|cause)"|^  "(lesson|seed|submission)"' --include='*.json' . | sort)
}
same_items() {
    items "$dir/results" >"$dir/items" && items "$out/results" | diff "$dir/items" - && [ -s "$dir/items" ]
}
expect "item by item what this machine gave" same_items
expect "nothing is left running there" no_survivor
finish
