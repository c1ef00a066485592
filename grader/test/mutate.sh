#!/bin/sh
# mutate.sh: is every graded item of a lesson needed? Removing an item must let a wrong kernel pass:
# some kernel of wrong/ fails that item alone, on every seed that it was graded on. The items that
# pay for the idea of the lesson do not count beside another one: they pay only if the results of
# their runs are right, so they see many mistakes a second time. usage: mutate.sh LESSON... After
# lesson.sh: what the wrong kernels fail stands in build/test/LESSON/*.items.
. grader/test/tell.sh
status=0
for lesson; do
    out=build/test/$lesson
    "$build/grader/$lesson/check" --list >"$out/list" && [ -s "$out/list" ] || status=1
    "$build/grader/$lesson/check" --idea | tail -n +2 >"$out/list.idea"
    set -- "$out"/*.items
    [ -e "$1" ] || set --
    awk -v lesson="$lesson" '
        what == "item" { item[++items] = $0; next }
        what == "idea" { of_idea[$0]; next }
        {
            # A line for each seed: the items that failed.
            if (FNR == 1) kernel[++kernels] = FILENAME
            seeds[kernels]++
            for (n = split($0 "|", part, "|") - 1; n > 0; n--) {
                failed[kernels] = failed[kernels] part[n] "|"
                times[kernels, part[n]]++
            }
        }
        # Would kernel k pass without item i?
        function passes(k, i,   n, part) {
            if (times[k, item[i]] != seeds[k]) return 0
            for (n = split(failed[k], part, "|") - 1; n > 0; n--)
                if (part[n] != item[i] && !(part[n] in of_idea)) return 0
            return 1
        }
        function name_of(k,   name) {
            name = kernel[k]
            sub(/.*\//, "", name)
            sub(/\.items$/, "", name)
            return name
        }
        # The wrong kernel that fails item i and the fewest others, and these.
        function in_the_way(i,   k, n, part, count, others, fewest, said) {
            for (k = 1; k <= kernels; k++) {
                if (times[k, item[i]] != seeds[k]) continue
                count = 0
                others = ""
                split("", seen)
                for (n = split(failed[k], part, "|") - 1; n > 0; n--)
                    if (part[n] != item[i] && !(part[n] in of_idea) && !(part[n] in seen)) {
                        seen[part[n]]
                        others = others (count++ ? ", " : "") "\"" part[n] "\""
                    }
                if (said && count >= fewest) continue
                fewest = count
                said = ": " name_of(k) " also fails " others "; keep the data of that free of its mistake"
            }
            return said ? said : ": no wrong kernel fails it on every seed"
        }
        END {
            for (i = 1; i <= items; i++) {
                for (k = 1; k <= kernels && !passes(k, i);) k++
                if (k <= kernels) said = name_of(k) " would pass"
                else said = "every wrong kernel still fails: the check is idle" in_the_way(i)
                printf "%s without \"%s\": %s\n", lesson, item[i], said
                idle += k > kernels
            }
            exit idle > 0
        }' what=item "$out/list" what=idea "$out/list.idea" what=failed "$@" || status=1
done
exit $status
