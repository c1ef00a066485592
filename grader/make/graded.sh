# graded.sh: which lessons are graded homework, and what gives them away. Sourced, not run.
# shellcheck shell=sh

# graded_lessons LIST: the folders of the lessons that GRADED=17,19 names, one a line. An unknown
# one ends the script.
graded_lessons() {
    named=
    for number in $(echo "$1" | tr ',' ' '); do
        found=
        for folder in lessons/[0-9][0-9]_*/; do
            name=${folder#lessons/} name=${name%/}
            case $name in "$number" | "${number}_"* | "0${number}_"* | [0-9][0-9]_"$number") found=$name ;; esac
        done
        [ -n "$found" ] || {
            echo "GRADED=$1: there is no lesson $number." >&2
            exit 2
        }
        named="$named $found"
    done
    echo "$named" | xargs -n 1 | sort -u
}

# without_lines LESSON: prints its hints without the last level, which names the line.
without_lines() {
    awk '/^## / { left_out = $2 == 3 } !left_out { print }' "lessons/$1/hints.md"
}

# headers_of LESSON: the headers of lessons/ that hold what the lesson asks for: its solution is cut
# into them, or their first comment says so.
headers_of() {
    for header in lessons/*.h; do
        awk -v lesson="$1" '
            index($0, "// ---- from solutions/" lesson "/") { found = 1 }
            NR > 1 && !/^\/\// { head = 1 }
            NR > 1 && !head && /[Ll]essons? .*(taught|asked|product)/ {
                sub(/(taught|asked|product).*/, "")
                found = found || match($0, "(^|[^0-9])" substr(lesson, 1, 2) "([^0-9]|$)")
            }
            END { exit !found }' "$header" && echo "$header"
    done
}
