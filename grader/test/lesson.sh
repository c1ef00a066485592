#!/bin/sh
# lesson.sh: everything a lesson must prove about itself.
# usage: lesson.sh plan LESSON     tests what needs no run; prints a line for each test, and writes
#                                  the jobs that are left to build/test/LESSON/jobs
#        lesson.sh close LESSON    when they are done: what they prove together
# KINDS="wrong right" in the environment: these kernels alone. SAMPLE="96 WORD": one in 96 of the
# wrong kernels in one lesson of two, in the others one in twelve of the steps and right variants,
# on one seed; in one lesson of two the naive file, and in one of four the solution on another card;
# others with another WORD. SOAK=1: as many fresh seeds as a finished kernel must have seen; else
# enough to show that nothing is broken. Runs that the ledger has are left out.
. grader/test/tell.sh
. grader/test/ledger.sh
. grader/make/file.sh
mode=$1 lesson=$2
function=${lesson#*_}
ending=$(ending_of "$lesson")
solution=$(solution "$lesson")
exercise=$(exercise "$lesson")
out=build/test/$lesson
stub=$out/$function.$ending
wrong=$out/wrong
[ -n "${SOAK:-}${KINDS:-}" ] || whole=yes
naive=$("$build/grader/$lesson/check" --idea | head -n 1 | cut -d' ' -f2)

if [ "$mode" = close ]; then
    # No check is idle: for every item there is a wrong kernel that fails it and no other, so that
    # it would pass if the item were not there. A sample cannot tell.
    [ -z "${whole:-}" ] || [ -n "${SAMPLE:-}" ] || expect "$lesson no check is idle" sh grader/test/mutate.sh "$lesson"
    [ "$failed" = 0 ]
    exit
fi

rm -rf "$out"
mkdir -p "$out"
: >"$out/jobs"
set -- "lessons/$lesson/README.md" "lessons/$lesson/hints.md" "$solution" "$exercise"
[ "$ending" != cu ] || set -- "$@" "lessons/$lesson/$function.h"
for file; do
    [ -s "$file" ] || tell FAIL "$lesson" "$file is missing"
done
[ "$failed" = 0 ] || exit 1

# The stub: cut from the solution, committed as cut, and a student's own edit is not our business.
expect "$lesson stub is cut" sh -c "awk -f grader/make/cut.awk $solution >$stub"
if git cat-file -e "HEAD:$exercise" 2>/dev/null; then
    expect "$lesson stub is committed" sh -c "git show HEAD:$exercise | cmp - $stub"
else
    expect "$lesson stub is there" cmp "$exercise" "$stub"
fi

# An author sees what g++ says of the exercise here; nvcc says the same, where it is.
no_warning() {
    # shellcheck disable=SC2046  # words
    "$build/cpu/rewrite" "$stub" "$out/stub.cpp" "$exercise" "$out/unset" "$out/unit.cu" &&
        g++ $(cat grader/cpu/cxxflags) -O0 -Werror -fsyntax-only -Igrader/cpu/include -Ilessons "-Ilessons/$lesson" "$out/stub.cpp"
}
[ "$ending" != cu ] || expect "$lesson stub compiles without a warning" no_warning
left=$(grep -ls '\bTEMPLATE\b' "lessons/$lesson/README.md" "grader/$lesson/bench.c" | tr '\n' ' ')
[ -z "$left" ] || tell FAIL "$lesson" "still as make new wrote it: $left"

kernels() { # kernels FOLDER: the files in it that can be graded, none if there is no such folder
    find "$1" -name "*.$ending" 2>/dev/null | sort
}
sh grader/test/wrong.sh list "$lesson" >"$wrong" 2>"$wrong.why" ||
    tell FAIL "$lesson wrong kernels" "$(cat "$wrong.why")"
[ "$(wc -l <"$wrong")" -ge 6 ] || tell FAIL "$lesson" "fewer than 6 wrong kernels"
[ "$(kernels "grader/$lesson/right" | wc -l)" -ge 2 ] || tell FAIL "$lesson" "fewer than 2 right variants"
for level in 1 2 3; do
    grep -q "^## $level " "lessons/$lesson/hints.md" || tell FAIL "$lesson" "no hint of level $level"
done

# A student who is told a cause finds a hint for it, at each level.
xargs sed -sn '1s|^// cause: ||p' <"$wrong" | tr -d ' ' | tr , '\n' | sort -u >"$out/causes"
# shellcheck disable=SC2016  # the $ are awk's
expect "$lesson has hints for every cause" awk '
    NR == FNR { cause[$0]; next }
    /^## / { level = $2 }
    /^### / { there[level, $2] }
    END {
        for (c in cause)
            for (l = 1; l <= 3; l++)
                if (!((l, c) in there)) { print FILENAME ": level " l " has no ### " c; bad = 1 }
        exit bad
    }' "$out/causes" "lessons/$lesson/hints.md"

# A sample has wrong kernels of some lessons, and of the others steps and right variants.
with_wrong=yes with_others=yes
if [ -n "${SAMPLE:-}" ]; then
    if drawn "$lesson wrong" 48; then with_others=''; else with_wrong=''; fi
    sample wrong <"$wrong" | awk -v on=$with_wrong on >"$wrong.sample"
    tell ok "$lesson: $(wc -l <"$wrong.sample") of $(wc -l <"$wrong") wrong kernels are graded, SAMPLE='$SAMPLE'"
    mv "$wrong.sample" "$wrong"
fi

# ---- the kernels: FILE KIND SEEDS LEVEL, on how many seeds each has to do what it must

# Our own kernels run hundreds of times, at the quickest isolation level. The exploits test the
# other levels.
quickest=$("$build/doctor" | awk '/^(bubblewrap|userid|limits)\tyes/ { level = $1 } END { print level }')
few=1 some=2 cards=h200
[ -z "${SAMPLE:-}" ] || some=1
[ -z "${SOAK:-}" ] || few=20 some=100 cards=$("$build/doctor" | awk -F '\t' '$1 == "card" { print $2 }')
# What is for Hopper GPUs alone has no other cards.
! grep -qs '"hopper\.h"' "$solution" || cards=h100
[ "$cards" != h200 ] || ! grep -qs '\.card = "h200"' "grader/$lesson/check.c" || cards=rtx3090
{
    echo "$stub stub 1"
    echo "$solution right $few"
    [ "$naive" = - ] || ! drawn "$lesson naive" 48 || echo "$naive naive $few $quickest"
    {
        kernels "solutions/$lesson/steps" | grep -vxF "$naive" | sed "s/\$/ step $few $quickest/"
        kernels "grader/$lesson/right" | sed "s/\$/ right $some $quickest/"
    } | sample others 8 | awk -v on=$with_others on
    sed "s/\$/ wrong $few $quickest/" "$wrong"
    # A grade is of the lesson's card, mostly the strictest. On others the solution must be as good:
    # the launcher chooses by their limits. Last: its program has been compiled then.
    [ "$ending" != cu ] || ! drawn "$lesson card" 24 || echo "$cards" | sed "s|.*|$solution right:& 1 $quickest|"
} | awk -v kinds="${KINDS:-stub right naive step wrong}" '
    { kind = $2; sub(/:.*/, "", kind) }
    index(" " kinds " ", " " kind " ")' >"$out/kernels"

# Their keys, and what the ledger has of them: FILE KIND SEEDS LEVEL KEY, SEEDS being those that are
# left. A soak counts fresh seeds only.
basis=$(basis "$lesson" grader/test/kernel.sh)
cut -d' ' -f1 "$out/kernels" | xargs -r sha256sum | paste -d' ' "$out/kernels" - >"$out/keys"
mkdir -p build/ledger
touch "build/ledger/$lesson"
awk -v basis="$basis" -v replayed="${TEST_SEED:-fresh}" -v soak="${SOAK:-}" -v out="$out/" '
    FILENAME ~ /^build.ledger/ {
        n = split($0, part, "\t")
        if (n != 3 || part[3] != "." || split(part[2], word, " ") < 3) next
        key = part[1]
        if (word[1] != "fresh" && (soak || word[1] != replayed)) next
        if (word[1] == "fresh") fresh[key] += word[2]
        else if (word[2] > again[key]) again[key] = word[2]
        text = part[2]
        sub(/^[^ ]* [^ ]* /, "", text)
        items[key] = items[key] text "\n"
        next
    }
    {
        level = NF == 6 ? $4 : ""
        key = basis "-" substr($(NF - 1), 1, 24) "-" $2 level
        left = $3 - fresh[key] - again[key]
        name = $1
        sub(/.*\//, "", name)
        sub(/\.[^.]*$/, "", name)
        if ($2 == "wrong" && key in items) printf "%s", items[key] > (out name ".items")
        if (left > 0) print "kernel.sh", lesson, $1, $2, left, key (level ? " " level : "") > (out "jobs")
        else if (soak) printf "ok    %s %s: %d fresh seeds before\n", $2, $1, fresh[key]
        else known++
    }
    END { if (known) printf "ok    %s: %d of %d kernels, as in an earlier run\n", lesson, known, FNR }
    ' lesson="$lesson" "build/ledger/$lesson" "$out/keys"
[ -z "${whole:-}" ] || sh grader/test/nvcc.sh plan "$lesson" >>"$out/jobs"
[ -z "${SOAK:-}" ] || [ -n "${KINDS:-}" ] || echo "nvcc.sh every $lesson" >>"$out/jobs"
[ "$failed" = 0 ]
