#!/bin/sh
# exercises.sh: what `make exercises` does: cuts every stub from its solution, what lessons/*.h
# teaches of one, and what a check compares with, grader/LESSON/given.h. A file that differs from
# the committed stub is somebody's work and is saved first.
# usage: exercises.sh LESSON...
. grader/make/save.sh
new=$(mktemp) || exit 2
trap 'rm -f "$new"' EXIT
for lesson; do
    file=$(exercise "$lesson")
    stub "$lesson" >"$new" || exit 1
    cmp -s "$new" "$file" && continue
    if [ -f "$file" ] && ! git show "HEAD:$file" 2>/dev/null | cmp -s - "$file"; then
        save "$file"
    fi
    mkdir -p "$(dirname "$file")" && cp "$new" "$file" || exit 2
    echo "cut $file"
done
for given in grader/*/given.h; do
    [ -e "$given" ] || continue
    stub "$(basename "${given%/*}")" | awk -f grader/make/given.awk >"$new" || exit 1
    cmp -s "$new" "$given" && continue
    cp "$new" "$given" || exit 2
    echo "cut $given"
done
for header in lessons/*.h; do
    awk -f grader/make/taught.awk "$header" >"$new" || exit 1
    cmp -s "$new" "$header" && continue
    cp "$new" "$header" || exit 2
    echo "cut $header"
done
