#!/bin/sh
# mutate.sh: is every graded item of a lesson needed? Removing an item must let a wrong kernel pass:
# some kernel of wrong/ fails that item alone, on every seed that it was graded on.
# usage: mutate.sh LESSON...
# After lesson.sh: what the wrong kernels fail stands in build/test/LESSON/*.items.
. grader/test/tell.sh
status=0
for lesson; do
    items=build/test/$lesson/list
    "$build/grader/$lesson/check" --list >"$items" && [ -s "$items" ] || status=1
    while read -r item; do
        for killed in "build/test/$lesson"/*.items; do
            # Every line of the file is the item's name and nothing else.
            if [ -s "$killed" ] && ! grep -qvxF -- "$item" "$killed"; then
                printf '%s without "%s": %s would pass\n' "$lesson" "$item" \
                    "$(basename "$killed" .items)"
                continue 2
            fi
        done
        printf '%s without "%s": every wrong kernel still fails: the check is idle\n' "$lesson" "$item"
        status=1
    done <"$items"
done
exit $status
