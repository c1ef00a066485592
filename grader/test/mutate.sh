#!/bin/sh
# mutate.sh: is every graded item of a lesson needed? Removing an item must let a wrong kernel pass:
# some kernel of wrong/ fails that item alone, on every seed that it was graded on. The items that
# pay for the idea of the lesson do not count beside another: they pay only if the results of their
# runs are right, so they see many mistakes a second time. usage: mutate.sh LESSON... After
# lesson.sh: what the wrong kernels fail stands in build/test/LESSON/*.items.
. grader/test/tell.sh
status=0
for lesson; do
    items=build/test/$lesson/list
    "$build/grader/$lesson/check" --list >"$items" && [ -s "$items" ] || status=1
    "$build/grader/$lesson/check" --idea | tail -n +2 >"$items.idea"
    while read -r item; do
        echo "$item" >"$items.may"
        grep -qxF -- "$item" "$items.idea" || cat "$items.idea" >>"$items.may"
        for killed in "build/test/$lesson"/*.items; do
            # A line for each seed: the items that failed.
            tr '|' '\n' <"$killed" >"$items.failed"
            if [ -s "$killed" ] && ! grep -qvxF -f "$items.may" "$items.failed" &&
                [ "$(grep -cxF -- "$item" "$items.failed")" = "$(wc -l <"$killed")" ]; then
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
