#!/bin/sh
# kernel.sh: grades one kernel on several seeds and says whether it did what it must.
# usage: kernel.sh LESSON FILE stub|right|naive|step|wrong[:CARD] SEEDS [KEY [LEVEL]]
# Without LEVEL it is graded at the strongest isolation level; without CARD on the lesson's card.
#   stub   scores exactly 0, and nothing is a grader error
#   right  scores full marks
#   step   fails nothing but what the lesson's costs are about, and scores what its row in
#          lessons/IDEAS.md says
#   naive  the same, and scores at most 60: it lacks the idea of the lesson
#   wrong  fails at least one item, and each one it fails names a cause of the file's first line,
#          "// cause: the mistake, what the instrumented build makes of it"
# Prints one line (tell.sh). Each success goes to the ledger of the lesson under KEY, with the
# seed's origin, the number of seeds and the items that failed; those of a wrong kernel go to
# build/test/LESSON/NAME.items, too.
. grader/test/tell.sh
. grader/test/ledger.sh
lesson=$1 file=$2 kind=$3 seeds=$4 key=${5:-} options=${6:+--isolation $6}
case $kind in *:*) options="$options --card ${kind#*:}" ;; esac
name="$kind $file"
kind=${kind%:*}
check=$build/grader/$lesson/check
declared=$(sed -n '1s|^// cause: \([a-zA-Z0-9_, ]*\)$|\1|p' "$file" | tr -d ' ')
[ "$kind" != wrong ] || [ -n "$declared" ] || {
    tell FAIL "$name" "its first line must be: // cause: id"
    exit 1
}
items=${file##*/}
folder=build/test/${BUILD:+$BUILD/}$lesson
mkdir -p "$folder"
items=$folder/${items%.*}

# all_in CAUSES ALLOWED: every one of the first is among the others (lists with commas)
all_in() {
    for cause in $(echo "$1" | tr , ' '); do
        case ",$2," in *",$cause,"*) ;; *) return 1 ;; esac
    done
}

# why_not: why the verdict is not the one there must be; nothing if it is
why_not() {
    if [ "$max" != 100 ]; then
        echo "no grade: $(cat "$items.said")"
    elif [ "$errors" != 0 ]; then
        echo "a grader error in: $failed_items"
    else
        case $kind in
        stub) [ "$score" = 0 ] || echo "scores $score, not 0" ;;
        right) [ "$score" = 100 ] || echo "scores $score: $causes in $failed_items" ;;
        # A step on the way is right; it may cost too much.
        step | naive)
            costs=$("$check" --causes | awk '$2 == "cost" { printf "%s,", $1 }')
            table=$(awk -F ' *[|] *' -v file="$file" '$5 == "`" file "`" { print $6 }' lessons/IDEAS.md)
            if ! all_in "$causes" "-,$costs"; then
                echo "scores $score: $causes in $failed_items"
            elif [ "$kind" = naive ] && [ "$score" -gt 60 ]; then
                echo "scores $score without the idea of the lesson, at most 60"
            elif [ "$score" != "${table:-$score}" ]; then
                echo "scores $score, in lessons/IDEAS.md $table: make texts"
            fi
            ;;
        wrong)
            if [ "$score" = 100 ]; then
                echo "passes everything"
            elif ! all_in "$causes" "$declared"; then
                echo "named $causes, not $declared, in $failed_items"
            fi
            ;;
        esac
    fi
}

done=0
while [ "$done" -lt "$seeds" ]; do
    # One program grades a right kernel several times, and less is lost when a long run is ended.
    now=1
    [ "$kind" != right ] || now=$((seeds - done))
    [ "$now" -le 10 ] || now=10
    # Fresh seeds, printed on a failure.
    # TEST_SEED=n: the same ones again, as on a CI machine, where a red run must be one's own doing.
    if [ -n "${TEST_SEED:-}" ]; then
        value=$(echo "$TEST_SEED $file $((done + 1))" | cksum | cut -d' ' -f1)
    else
        value=$(od -An -N7 -tu8 /dev/urandom | tr -d ' ')
    fi
    # shellcheck disable=SC2086  # words
    verdict=$("$check" "$file" --format verdict --device cpu --seed "$value" $options --repeat $now 2>"$items.said")
    {
        read -r score max errors causes failed_items
        read -r value
    } <<TEXT
$verdict
TEXT
    why=$(why_not)
    [ -z "$why" ] || {
        tell FAIL "$name" "$why (SEED=$value)"
        exit 1
    }
    [ "$kind" != wrong ] || echo "$failed_items" >>"$items.items"
    [ -z "$key" ] || ledger_add "$lesson" "$key" "${TEST_SEED:-fresh} $now $failed_items"
    done=$((done + now))
done
rm -f "$items.said"
tell ok "$name"
