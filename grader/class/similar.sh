#!/bin/sh
# similar.sh: which submissions of a class look like each other. Informs an instructor; nothing is
# graded by it. similarity-tester compares runs of tokens: names, numbers, layout and comments do
# not count, nor does the order of functions. Lines of the exercise as it was given, whatever stands
# in exercises/ now, are taken out before, whatever their blanks. Formulas (lesson 21) are not
# compared: right ones are alike.
# usage: similar.sh OUT     reads OUT/submissions, writes OUT/similar.txt: pairs of which one consists for at least 60 %
#                           of what the other has as well, in runs of 12 tokens; those with the same file are one line
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
# in_utf8 FILE: its text, in UTF-16 perhaps.
in_utf8() {
    case $(head -c 2 "$1" | od -An -tx1) in
    ' ff fe' | ' fe ff') iconv -f UTF-16 -t UTF-8 "$1" ;;
    *) cat "$1" ;;
    esac
}
mkdir -p "$out/submissions" # nothing may have been taken
find "$out/submissions" -type f -name '*.cu' | sed 's|.*/||; s|\.cu$||' | sort -u >"$work/lessons"
while read -r lesson; do
    mkdir "$work/$lesson"
    stub "$lesson" >"$work/given" || {
        echo "$lesson: no report on similar submissions: its untouched exercise is not found." >&2
        continue
    }
    # Numbers stand for the names, which may have blanks. Beside each stands the first one's with
    # the same file.
    number=0
    : >"$work/names"
    for file in "$out"/submissions/*/"$lesson.cu"; do
        number=$((number + 1))
        in_utf8 "$file" >"$work/text"
        awk '
            { line = $0; gsub(/[ \t\r]/, "", line) }
            NR == FNR { given[line]; next }
            !(line in given)' "$work/given" "$work/text" >"$work/$lesson/$number"
        sum=$(sha256sum <"$work/$lesson/$number" | cut -c 1-64)
        same=$(sed -n "s/^$sum \([0-9]*\)\t.*/\1/p" "$work/names" | head -n 1)
        same=${same:-$number}
        printf '%s %s\t%s\n' "$sum" "$same" "$(basename "$(dirname "$file")")" >>"$work/names"
    done
    # Its report's lines: A consists for 85 % of B material. Each pair is told once, by the larger
    # share.
    (cd "$work/$lesson" && find . -type f | sed 's|^\./||' | sort | sim_c -i -p -a -e -r 12 -t 60 2>/dev/null) |
        awk -v lesson="$lesson" '
            NR == FNR {
                split($0, part, /[ \t]/)
                of[FNR] = part[2]
                sub(/^[^\t]*\t/, "")
                count[part[2]]++
                name[part[2]] = name[part[2]] (count[part[2]] > 1 ? ", " : "") $0
                whole[part[2]] = whole[part[2]] (count[part[2]] > 1 ? "  and  " : "") $0
                next
            }
            /consists for [0-9]+ % of/ {
                a = of[$1]
                b = of[$7]
                if (a == b) same[a]
                pair = a + 0 < b + 0 ? a " " b : b " " a
                if (a == b || (pair in share && ($4 < share[pair] || ($4 == share[pair] && a + 0 > b + 0)))) next
                share[pair] = $4 + 0
                text[pair] = name[a] "  and  " name[b]
            }
            END {
                for (a in same) printf "100 %%  %s  %s  (the same file)\n", lesson, whole[a]
                for (pair in text) printf "%3d %%  %s  %s\n", share[pair], lesson, text[pair]
            }' "$work/names" -
done <"$work/lessons" | sort -k1,1nr -k3 >"$work/similar"
{
    echo "share of the first one's own code that the second has as well, the larger of both; exercise text and names left out"
    cat "$work/similar"
} >"$work/report"
cp "$work/report" "$out/similar.txt"
lines=$(wc -l <"$work/similar")
[ "$lines" = 1 ] && lines='1 line' || lines="$lines lines"
[ ! -s "$work/similar" ] || echo "Submissions look alike: $out/similar.txt, $lines (it informs, nothing is graded by it)"
