#!/bin/sh
# handout.sh: what `make handout OUT=dir` does: the student edition, a repository of its own. It
# grades itself as this one does, and has no solutions, no decks (they show some; the tile sweep
# shows none), no answers to the homework, no kernels that must fail or pass, no figures of what is
# to be predicted, no tests of the course. Where OUT is the student edition already, a commit on top
# of what is there makes it the present one: whoever cloned it gets that by make update.
# Of lessons that are graded homework, GRADED=17,19, what would give them away is left out as well:
# the hints that name a line, and headers that hold what they ask for. lessons/graded.txt has their
# names.
# usage: handout.sh    with OUT, and perhaps GRADED, in the environment
. grader/make/save.sh
. grader/make/graded.sh
out=${OUT:-} before=
graded=$(graded_lessons "${GRADED:-}") || exit 2
[ -n "$out" ] || {
    echo "OUT= is missing: the folder to make, or the student edition to renew." >&2
    exit 2
}
if [ -e "$out" ]; then
    [ ! -e "$out/.git" ] || before=$(cd "$out" && handed_out)
    [ -n "$before" ] || {
        echo "$out is there already and is no student edition. Remove it, or give another OUT=." >&2
        exit 2
    }
    changed=$(git -C "$out" status --porcelain | head -n 3)
    [ -z "$changed" ] || {
        echo "$out has changes that are not committed; commit or undo them first:
$changed" >&2
        exit 2
    }
fi
git rev-parse --git-dir >/dev/null || exit 2
list=$(mktemp) || exit 2
trap 'rm -f "$list"' EXIT
git ls-files -z -- . ':!solutions' ':(exclude,glob)slides/*' ':!slides/figures' ':!exercises' ':!grader/*/wrong/*' ':!grader/*/right/*' ':!grader/*/peers/*' \
    ':!grader/*/test.sh' ':!grader/test' ':!grader/cpu/test' ':!grader/cpu/bench' ':!grader/bench/test' ':!.ci' ':!.github' \
    ':!lessons/INSTRUCTORS.md' ':!lessons/*/answers.md' ':!grader/make/template' \
    ':!plots/data/*/*.after.csv' ':!plots/svg/cures_*' >"$list" || exit 2
mkdir -p "$out" || exit 2
# Files that were handed out and no longer exist have to go; files that the instructor added stay.
[ -z "$before" ] || (cd "$out" && git ls-tree -r -z --name-only "$before" | xargs -0 rm -f) || exit 2
xargs -0 cp --parents -p -t "$out" <"$list" || exit 2
# A header that later lessons may include is for an edition that has one of them.
last=$(cd "$out" && printf '%s\n' lessons/[0-9]*/ | sed 's|lessons/||; s|_.*||' | sort -n | tail -n 1)
for header in "$out"/lessons/*.h; do
    from=$(sed -n '1s|^// from lesson \([0-9]*\): .*|\1|p' "$header")
    [ "${from:-0}" -le "$last" ] || rm "$header"
done
# What gives graded homework away
rm -f "$out/lessons/graded.txt"
for lesson in $graded; do
    echo "$lesson" >>"$out/lessons/graded.txt"
    without_lines "$lesson" >"$out/lessons/$lesson/hints.md" || exit 2
    for header in $(headers_of "$lesson"); do
        [ -e "$out/$header" ] || continue
        rm "$out/$header" || exit 2
        echo "$header holds what lesson ${lesson%%_*} asks for, and is left out. A lesson that includes it waits" \
            "until the edition is renewed without GRADED=${lesson%%_*}:" \
            "$(grep -l "\"$(basename "$header")\"" solutions/*/*.cu | sed 's|solutions/||; s|_.*||' | sort -u | tr '\n' ' ')"
    done
done
# The exercises as they were given, whatever was tried in this clone.
for check in grader/*/check.c; do
    lesson=$(basename "$(dirname "$check")")
    file=$(exercise "$lesson")
    mkdir -p "$out/$(dirname "$file")" && stub "$lesson" >"$out/$file" || exit 2
done
awk '{ print } NR == 1 {
    print "\n**This is the student edition.** It has no solutions: what the texts show with `FROM=solutions` or `make wrong`, and"
    print "what they link to in `solutions/`, is not here, and a command that needs it says so. Your own kernel is graded as"
    print "everywhere. `make update` brings what is new, and keeps your work."
    print "What a lesson of kernels asks for stands in its check as arithmetic in double, not as a kernel. Lesson 21 is another"
    print "matter: its answers are formulas, and what grades them, `grader/21_flop_counting/questions.h`, has to know them."
    print "Whoever opens that file reads the answers. So it is with lessons 22, whose check names the bugs to be found, and 23,"
    print "where `grader/23_profiling/recorded.h` has what is asked of its tables."
    print "The headers `lessons/*.h` hold what lessons teach: a kernel of a later lesson may include them, an earlier one is"
    print "refused."
    if (graded != "") print "Graded homework is" graded ": their hints do not name the line."
}' graded="$(echo "$graded" | sed -n 's/^\([0-9]*\)_.*/\1/p' | tr '\n' ' ' | sed 's/^\(.\)/ \1/; s/ $//; s/\([0-9]\) /\1, /g')" README.md >"$out/README.md" || exit 2
cd "$out" || exit 2
[ -n "$before" ] || git init -q . || exit 2
git add -A || exit 2
if git diff --cached --quiet; then
    echo "$out: nothing is new since $(git log -1 --format=%cs "$before")."
    exit 0
fi
git -c user.name=course -c user.email=course@localhost commit -q -m "$edition" || exit 2
if [ -n "$before" ]; then
    echo "$out: renewed, $(git diff --shortstat HEAD^). Publish it where it was, and students run make update."
else
    echo "$out: the student edition, $(git ls-files | wc -l) files. Try it there: sh setup.sh && make grade LESSON=01"
fi
