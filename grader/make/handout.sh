#!/bin/sh
# handout.sh: what `make handout OUT=dir` does: the student edition, a repository of one commit. It grades itself as
# this one does, and has no solutions, no decks (they show some), no kernels that must fail or pass, no tests of the course.
# usage: handout.sh    with OUT in the environment
out=${OUT:-}
[ -n "$out" ] || {
    echo "OUT= is missing: the folder to make, which must not be there yet." >&2
    exit 2
}
if [ -e "$out" ]; then
    echo "$out is there already. Remove it, or give another OUT=." >&2
    exit 2
fi
git rev-parse --git-dir >/dev/null || exit 2
mkdir -p "$out" || exit 2
git ls-files -z -- . ':!solutions' ':!slides' ':!grader/*/wrong/*' ':!grader/*/right/*' ':!grader/*/peers/*' ':!grader/*/test.sh' ':!grader/test' \
    ':!grader/cpu/test' ':!grader/cpu/bench' ':!grader/bench/test' ':!.ci' ':!.github' ':!lessons/INSTRUCTORS.md' ':!exercises' >"$out/.files" || exit 2
xargs -0 cp --parents -p -t "$out" <"$out/.files" || exit 2
rm -f "$out/.files"
# The exercises as they were given, whatever was tried in this clone.
. grader/make/save.sh
for check in grader/*/check.c; do
    lesson=$(basename "$(dirname "$check")")
    file=$(exercise "$lesson")
    mkdir -p "$out/$(dirname "$file")" && stub "$lesson" >"$out/$file" || exit 2
done
mkdir -p "$out/grader/test"
cat >"$out/grader/test/all.sh" <<'TEXT'
#!/bin/sh
echo "This is the student edition: the course's own tests need its solutions. make grade grades your work." >&2
exit 2
TEXT
cd "$out" && git init -q . && git add -A && git -c user.name=course -c user.email=course@localhost \
    commit -q -m "The course, student edition" || exit 2
echo "$out: the student edition, $(git ls-files | wc -l) files. Try it there: sh setup.sh && make grade LESSON=01"
