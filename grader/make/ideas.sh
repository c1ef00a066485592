#!/bin/sh
# ideas.sh: writes the table of lessons/IDEAS.md: for each lesson its idea, how much it is worth,
# and what the naive file and the other steps score. `make texts` runs it. usage: ideas.sh
. grader/make/file.sh
table=lessons/IDEAS.md
new=$(mktemp) || exit 2
trap 'rm -f "$new"' EXIT
# row LESSON IDEA POINTS FILE: the answers do not depend on the seed, nor do the costs
row() {
    read -r score _ <<TEXT
$("$build/grader/$1/check" "$4" --format verdict --device cpu --seed 1)
TEXT
    echo "| ${1%%_*} | $2 | $3 | \`$4\` | $score |"
}
{
    sed '/^<!-- ideas -->$/q' $table
    echo '| lesson | its idea | points | the naive file; other steps | gets |'
    echo '|---|---|---|---|---|'
    for check in "$build"/grader/[0-9]*/check; do
        lesson=$(basename "${check%/*}")
        read -r points naive what <<TEXT
$("$check" --idea)
TEXT
        if [ "$naive" = - ]; then
            echo "| ${lesson%%_*} | $what | | | |"
        else
            row "$lesson" "$what" "$points" "$naive"
        fi
        for step in solutions/"$lesson"/steps/*; do
            [ ! -e "$step" ] || [ "$step" = "$naive" ] || row "$lesson" '' '' "$step"
        done
    done
    sed -n '/^<!-- \/ideas -->$/,$p' $table
} >"$new" && cp "$new" $table && echo $table
