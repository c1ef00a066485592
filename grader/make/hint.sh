#!/bin/sh
# hint.sh: what `make hint LESSON=12` does: the next of three hints (question, direction, line). It
# belongs to the cause that the last grade of the exercise, whole or with CASE=, named for the next
# step, or to CAUSE=, if there is one. usage: hint.sh LESSON
lesson=$1
. grader/make/save.sh
hints=lessons/$lesson/hints.md mine=$(exercise "$lesson")
[ -f "$hints" ] || {
    echo "$hints does not exist." >&2
    exit 2
}
if [ -n "$CAUSE" ] && ! grep -qx "### $CAUSE" "$hints" &&
    ! "$build/grader/$lesson/check" --causes 2>/dev/null | grep -q "^$CAUSE "; then
    echo "CAUSE=$CAUSE: there is no such cause. Lesson $lesson has hints for these:" >&2
    sed -n 's/^### //p' "$hints" | sort -u | fmt -w 76 | sed 's/^/  /' >&2
    exit 2
fi
score='' max='' cause=- stopped=
result=build/results/$lesson.json followed='whole grade' part=
[ ! -f "build/hints/$lesson.json" ] || {
    result=build/hints/$lesson.json followed='grade with CASE=' part=yes
}
if last=$("$build/grader/$lesson/check" last "$result" 2>/dev/null); then
    { read -r score max && read -r cause && stopped=$(cat); } <<TEXT
$last
TEXT
fi
if [ -z "$CAUSE" ] && [ "$score" = 100 ]; then
    echo "The last grade of $mine was 100/100: there is nothing to hint at. Next are the"
    echo "homework questions in lessons/$lesson/README.md$([ ! -d solutions ] || echo " and the solution, solutions/$lesson/")."
    exit 0
fi
if [ -z "$CAUSE" ] && [ -n "$part" ] && [ -n "$score" ] && [ "$score" = "$max" ]; then
    echo "What you graded last, with CASE=, has full marks: $score/$max. What is next says a whole grade:"
    echo "make grade LESSON=${lesson%%_*}"
    exit 0
fi
# Nothing ran: the message of the compiler or the grader comes before any hint.
if [ -z "$CAUSE" ] && [ -n "$stopped" ]; then
    printf '%s\n\nThe hints begin when it can be run. All that was said: make grade LESSON=%s\n' \
        "$stopped" "${lesson%%_*}"
    exit 0
fi
graded=${score:+$score/$max}
# gaps: how many places of a text are still to be written. Of an exercise in which nobody has begun
# the cause says nothing: what comes first does.
gaps() {
    grep -c 'your code goes here'
}
begin=
if [ -z "$CAUSE" ] && [ "$score" = 0 ] && left=$(gaps <"$mine") &&
    [ "$left" = "$(stub "$lesson" 2>/dev/null | gaps)" ]; then
    begin=$(grep -n 'your code goes here' "$mine" | head -n 1 | cut -d: -f1)
    cause=-
fi
cause=${CAUSE:-$cause} unknown='' of_all=
grep -qx "### $cause" "$hints" || {
    # What any lesson may meet has hints for all of them.
    if grep -qx "### $cause" lessons/hints.md; then of_all=lessons/hints.md; else unknown=${cause#-} cause=; fi
}
count=build/hints/$lesson.${cause:-general}
level=$(($(cat "$count" 2>/dev/null || echo 0) + 1))
# Of graded homework the student edition has two levels.
last_level=$(sed -n 's/^## \([0-9]\).*/\1/p' "$hints" | tail -n 1)
[ "$level" -le "$last_level" ] || level=$last_level
mkdir -p build/hints && echo "$level" >"$count"

# The general paragraph of a level, or its ### cause section where there is one.
show() { # show LEVEL CAUSE FILE
    awk -v level="$1" -v cause="$2" '
        /^## / { on = ($2 == level); part = ""; next }
        /^### / { part = $2; next }
        on { text[part] = text[part] $0 "\n" }
        END {
            chosen = (cause != "" && cause in text) ? text[cause] : text[""]
            gsub(/^\n+|\n+$/, "", chosen)
            print chosen
        }' "$3"
}
# As wide as the terminal: the lines of a paragraph are one. Code, lists and tables stay as they
# are, and so does all where no width is known: who reads in a pipe wraps it.
wrap() {
    width=${COLUMNS:-}
    [ -n "$width" ] || [ ! -t 1 ] || width=$(stty size 2>/dev/null </dev/tty | cut -d' ' -f2)
    [ "${width:-0}" -ge 40 ] 2>/dev/null || { cat && return; }
    awk -v width="$width" '
        function flush(   n, i, word, line) {
            n = split(text, word, " ")
            for (i = 1; i <= n; i++) {
                if (line != "" && length(line) + 1 + length(word[i]) > width) {
                    print line
                    line = ""
                }
                line = line (line == "" ? "" : " ") word[i]
            }
            if (line != "") print line
            text = ""
        }
        /^(    |[-|*] |[|#]|[0-9]+[.])/ || !NF { flush(); print; next }
        { text = text " " $0 }
        END { flush() }'
}
title=$(sed -n "s/^## $level *//p" "$hints")
echo "Hint $level of $last_level (${title:-hint})${cause:+, for: $cause}"
[ -n "$CAUSE" ] || [ -z "$graded" ] || echo "It follows from your last $followed of $mine, $graded."
[ -z "$unknown" ] || echo "It is the lesson's own: there is none for $unknown."
[ -z "$of_all" ] || grep -q "^## $level " "$of_all" || {
    echo "The line is the lesson's own, whatever the cause."
    of_all='' cause=
}
[ -z "$begin" ] || echo "Nothing is written yet: the first gap is line $begin of $mine."
echo
show "$level" "$cause" "${of_all:-$hints}" | wrap
echo
if [ "$level" = "$last_level" ]; then echo "That was the last one. The text: lessons/$lesson/README.md"; fi
