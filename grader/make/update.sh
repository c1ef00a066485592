#!/bin/sh
# update.sh: what `make update` does: fetches the course's new version without touching your work.
# Every exercise you changed is saved, and is still yours afterwards. What make bench, plots and
# tune wrote over files of the course is saved, and is the course's afterwards. usage: update.sh
. grader/make/save.sh

die() {
    echo "$*" >&2
    exit 2
}

git rev-parse --git-dir >/dev/null 2>&1 || die "This folder is not a git clone: download the new version instead."
upstream=$(git rev-parse --abbrev-ref '@{u}' 2>/dev/null) ||
    die "This branch follows no other: git branch --set-upstream-to=origin/main"
other=$(git status --porcelain --untracked-files=no -- . ':!exercises' ':!plots/data' ':!plots/svg' ':!lessons/*tiles.h' | head -n 3)
[ -z "$other" ] || die "These files of the course itself are changed; commit or undo that first:
$other"
git fetch -q || die "The new version could not be fetched (see above); nothing was changed."
if [ "$(git rev-list --count 'HEAD..@{u}')" = 0 ]; then
    echo "This is the newest version."
    exit 0
fi

# What you changed, committed or not: it differs from the stub the course had.
old=$(git merge-base HEAD '@{u}') || die "This clone and $upstream have nothing in common."
mine=
for file in exercises/*/*.cu exercises/*/answers.txt; do
    [ -f "$file" ] || continue
    git show "$old:$file" 2>/dev/null | cmp -s - "$file" && continue
    save "$file"
    mine="$mine $file"
done

measured=$(git diff --name-only HEAD -- plots/data plots/svg 'lessons/*tiles.h')
for file in $measured; do save "$file"; done

put_back() {
    for file in $mine $measured; do cp -p "$saved/$file" "$file"; done
}
trap put_back EXIT
# shellcheck disable=SC2086  # names of ours, without blanks
git checkout -q HEAD -- exercises $measured
git merge -q --no-edit -X ours '@{u}' >/dev/null || {
    git merge --abort 2>/dev/null
    die "The new version does not fit what this clone has committed. Your files are untouched.
See git log ..$upstream, or clone the course afresh and copy $saved/exercises into it."
}
[ -z "$measured" ] || echo "What this machine had measured is saved; make tune and make bench measure again."
measured=
put_back
trap - EXIT
echo "Updated to $(git log -1 --format='%h, %cs')."
for file in $mine; do
    git diff --quiet "$old" '@{u}' -- "$file" ||
        echo "$file: the course has a new version of this exercise; yours was kept. make reset gives the new one."
done
