#!/bin/sh
# lesson.sh: everything a lesson must prove about itself.
# usage: lesson.sh LESSON
. grader/test/tell.sh
. grader/make/file.sh
lesson=$1
function=${lesson#*_}
ending=$(ending_of "$lesson")
solution=solutions/$lesson/$(name_of "$lesson")
exercise=exercises/$lesson/$(name_of "$lesson")
out=build/test/$lesson
rm -rf "$out"
mkdir -p "$out"

set -- "lessons/$lesson/README.md" "lessons/$lesson/hints.md" "$solution" "$exercise"
[ "$ending" != cu ] || set -- "$@" "lessons/$lesson/$function.h"
for file; do
    [ -s "$file" ] || tell FAIL "$lesson" "$file is missing"
done
[ "$failed" = 0 ] || {
    finish
    exit
}

# The stub: cut from the solution, committed as cut, and a student's own edit is not our business.
stub=$out/$function.$ending
expect "$lesson stub is cut" sh -c "awk -f grader/make/cut.awk $solution >$stub"
if git cat-file -e "HEAD:$exercise" 2>/dev/null; then
    expect "$lesson stub is committed" sh -c "git show HEAD:$exercise | cmp - $stub"
else
    expect "$lesson stub is there" cmp "$exercise" "$stub"
fi

kernels() { # kernels FOLDER: the files in it that can be graded, none if there is no such folder
    find "$1" -name "*.$ending" 2>/dev/null | sort
}
wrong=$out/wrong
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

# One job a line; two at a time is what a laptop has. The hundreds of runs of our own kernels are at the
# quickest isolation level; what it does not hold back is the exploits' business.
quickest=$("$build/doctor" | awk '/^(bubblewrap|userid|limits)\tyes/ { level = $1 } END { print level }')
jobs=$out/jobs
# Where the seeds are replayed (TEST_SEED), they were fresh when they were tried first: a few say as much as many.
few=3 some=20 many=100
[ -z "${TEST_SEED:-}" ] || few=1 some=2 many=2
{
    echo "$stub stub 1"
    echo "$solution right $few"
    kernels "solutions/$lesson/steps" | sed "s/\$/ step $few $quickest/"
    sed "s/\$/ wrong $few $quickest/" "$wrong"
    # Two other designs on a hundred seeds; more of them are there for the shape of the code.
    kernels "grader/$lesson/right" | awk -v q="$quickest" -v some="$some" -v many="$many" '{ print $0, "right", (NR > 2 ? some : many), q }'
} >"$jobs"
results=$out/results
xargs -P "$(nproc)" -L 1 sh grader/test/kernel.sh "$lesson" <"$jobs" >"$results"
cat "$results"
passed=$((passed + $(grep -c '^ok' "$results")))
failed=$((failed + $(grep -c '^FAIL' "$results")))
[ "$(grep -cE '^(ok|FAIL)' "$results")" = "$(wc -l <"$jobs")" ] ||
    tell FAIL "$lesson" "a test ended without a word"

# No check is idle: for every item there is a wrong kernel that fails it and no other, so that it
# would pass if the item were not there.
expect "$lesson no check is idle" sh grader/test/mutate.sh "$lesson"

# What only this lesson can prove about itself.
if [ -e "grader/$lesson/test.sh" ]; then
    sh "grader/$lesson/test.sh" >"$results"
    cat "$results"
    passed=$((passed + $(grep -c '^ok' "$results")))
    failed=$((failed + $(grep -c '^FAIL' "$results")))
fi
finish
