#!/bin/sh
# similar.sh: which submissions of a class look like each other. Informs an instructor; nothing is
# graded by it. similarity-tester compares runs of tokens: names, numbers, layout and comments do
# not count, nor does the order of functions. Lines of the exercise as it was given, whatever stands
# in exercises/ now, are taken out before, whatever their blanks. Formulas (lesson 21) are not
# compared: right ones are alike.
# usage: similar.sh OUT     reads OUT/submissions, writes OUT/similar.txt: pairs of which one consists for at least 60 %
#                           of what the other has as well, in runs of 12 tokens
set -u
export LC_ALL=C
. grader/make/save.sh
out=$1
command -v sim_c >/dev/null || {
    echo "No report on similar submissions: similarity-tester is not installed (sh setup.sh --class)." >&2
    exit 0
}
work=$(mktemp -d) || exit 2
trap 'rm -rf "$work"' EXIT
mkdir -p "$out/submissions" # nothing may have been taken
find "$out/submissions" -type f -name '*.cu' | sed 's|.*/||; s|\.cu$||' | sort -u >"$work/lessons"
while read -r lesson; do
    mkdir "$work/$lesson"
    stub "$lesson" >"$work/given" || {
        echo "$lesson: no report on similar submissions: its untouched exercise is not found." >&2
        continue
    }
    # Numbers stand for the names, which may have blanks.
    number=0
    : >"$work/names"
    for file in "$out"/submissions/*/"$lesson.cu"; do
        number=$((number + 1))
        basename "$(dirname "$file")" >>"$work/names"
        awk '
            { line = $0; gsub(/[ \t\r]/, "", line) }
            NR == FNR { given[line]; next }
            !(line in given)' "$work/given" "$file" >"$work/$lesson/$number"
    done
    # Its report's lines: A consists for 85 % of B material
    (cd "$work/$lesson" && find . -type f | sed 's|^\./||' | sort | sim_c -i -p -e -r 12 -t 60 2>/dev/null) |
        awk -v lesson="$lesson" '
            NR == FNR { name[NR] = $0; next }
            /consists for [0-9]+ % of/ { printf "%3d %%  %s  %s  and  %s\n", $4, lesson, name[$1], name[$7] }' "$work/names" -
done <"$work/lessons" | sort -rn >"$work/similar"
{
    echo "share of the first one's own code that the second has as well; exercise text and names left out"
    cat "$work/similar"
} >"$work/report"
cp "$work/report" "$out/similar.txt"
pairs=$(wc -l <"$work/similar")
look='pairs of submissions look'
[ "$pairs" != 1 ] || look='pair of submissions looks'
[ "$pairs" = 0 ] || echo "$pairs $look alike: $out/similar.txt (it informs, nothing is graded by it)"
