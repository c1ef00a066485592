#!/bin/sh
# lesson.sh: says which lessons there are if LESSON= names none or several.
# usage: lesson.sh ASKED FOUND LESSON...
asked=$1 found=$2
shift 2
# shellcheck disable=SC2086  # found is a list of names
set -- "$#" $found -- "$@"
shift
count=0
while [ "$1" != -- ]; do
    count=$((count + 1))
    shift
done
shift
[ "$count" = 1 ] && exit 0
# The list is long: what was wrong comes behind it, where a terminal shows it.
echo "The lessons are:" >&2
printf '  %s\n' "$@" >&2
if [ -z "$asked" ]; then
    echo "Say which lesson: LESSON=12 or LESSON=flash_forward." >&2
elif [ "$count" = 0 ]; then
    echo "There is no lesson $asked." >&2
else
    echo "LESSON=$asked can mean: $found." >&2
fi
exit 2
