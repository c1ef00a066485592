#!/bin/sh
# kernel.sh: grades one kernel on several seeds and says whether it did what it must.
# usage: kernel.sh LESSON FILE stub|right|step|wrong SEEDS [LEVEL]     (the strongest isolation level)
#   stub   scores exactly 0, and nothing is a grader error
#   right  scores full marks
#   step   fails nothing but what the lesson's costs are about
#   wrong  fails at least one item, and each one it fails names a cause of the file's first line,
#          "// cause: the mistake, what the instrumented build makes of it"
# Prints one line (tell.sh); the items a wrong kernel fails go to build/test/LESSON/NAME.items.
. grader/test/tell.sh
lesson=$1 file=$2 kind=$3 seeds=$4 level=${5:+--isolation $5}
name="$kind $file"
causes_declared=$(sed -n '1s|^// cause: \([a-zA-Z0-9_, ]*\)$|\1|p' "$file" | tr -d ' ')
[ "$kind" != wrong ] || [ -n "$causes_declared" ] || {
    tell FAIL "$name" "its first line must be: // cause: id"
    exit 1
}
out=build/test/$lesson
mkdir -p "$out"
items=${file##*/}
items=$out/${items%.*}.items
[ "$kind" != wrong ] || : >"$items"

# Every failed item names a cause that the file declares: the mistake, or what the instrumented build
# finds or counts of the same mistake.
named_as_declared() {
    for named in $(echo "$causes" | tr , ' '); do
        case ",$causes_declared," in
        *",$named,"*) ;;
        *) return 1 ;;
        esac
    done
}

# What a right but slow kernel may fail by.
costs=$(tr -d ' \\\n' <grader/check/cause.h | grep -o 'COST([A-Za-z_]*,' | tr -d '(,' | sed 's/^COST//')

seed=0 repeat=
[ "$kind" != right ] || repeat="--repeat $seeds" seeds=1
while [ "$seed" -lt "$seeds" ]; do
    seed=$((seed + 1))
    # Fresh seeds, printed on a failure.
    # TEST_SEED=n: the same ones again, as on a CI machine, where a red run must be one's own doing.
    if [ -n "${TEST_SEED:-}" ]; then
        value=$(echo "$TEST_SEED $file $seed" | cksum | cut -d' ' -f1)
    else
        value=$(od -An -N7 -tu8 /dev/urandom | tr -d ' ')
    fi
    # shellcheck disable=SC2086  # two words or none
    json=$("$build/grader/$lesson/check" "$file" --format json --device cpu --seed "$value" $level $repeat 2>&1)
    found=$(printf '%s\n' "$json" | awk -f grader/test/verdict.awk)
    read -r score max errors causes failed_items <<TEXT
$found
TEXT
    why=
    if [ "$max" != 100 ]; then
        why="no grade: $json"
    elif [ "$errors" != 0 ]; then
        why="a grader error in: $failed_items"
    else
        case $kind in
        stub) [ "$score" = 0 ] || why="scores $score, not 0" ;;
        # A step on the way is right; what it may lack is thrift.
        step)
            case ,$causes, in
            ,-,) ;;
            *)
                rest=$(echo "$causes" | tr , '\n' | grep -vxF "$costs")
                [ -z "$rest" ] || why="scores $score: $causes in $failed_items"
                ;;
            esac
            ;;
        right) [ "$score" = 100 ] || why="scores $score: $causes in $failed_items" ;;
        wrong)
            if [ "$score" = 100 ]; then
                why="passes everything"
            elif ! named_as_declared; then
                why="named $causes, not $causes_declared, in $failed_items"
            fi
            echo "$failed_items" >>"$items"
            ;;
        esac
    fi
    [ -z "$why" ] || {
        value=$(printf '%s\n' "$json" | sed -n 's/^  "seed": "\(.*\)",$/\1/p')
        tell FAIL "$name" "$why (SEED=$value)"
        exit 1
    }
done
tell ok "$name"
