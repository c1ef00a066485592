#!/bin/sh
# mutate.sh: is every graded item of a lesson needed? Removing an item must let a wrong kernel pass:
# some kernel of wrong/ fails that item alone, on every seed of the last `make test`.
# usage: mutate.sh LESSON...     (runs the lesson's wrong kernels first if they have not been run)
. grader/make/file.sh
status=0
for lesson; do
    out=build/test/$lesson
    mkdir -p "$out"
    sh grader/test/wrong.sh list "$lesson" >"$out/wrong" || status=1
    while read -r file; do
        [ -s "$out/$(basename "$file" ".$(ending_of "$lesson")").items" ] ||
            sh grader/test/kernel.sh "$lesson" "$file" wrong 3 </dev/null || status=1
    done <"$out/wrong"
    "$build/grader/$lesson/check" --list | while read -r item; do
        for killed in "$out"/*.items; do
            # Every line of the file is the item's name and nothing else.
            if [ -s "$killed" ] && ! grep -qvxF -- "$item" "$killed"; then
                printf '%s without "%s": %s would pass\n' "$lesson" "$item" \
                    "$(basename "$killed" .items)"
                continue 2
            fi
        done
        printf '%s without "%s": every wrong kernel still fails: the check is idle\n' "$lesson" "$item"
        exit 1
    done || status=1
done
exit $status
