#!/bin/sh
# typos.sh: says what make would pass over in silence, or call a missing rule: a variable that no
# command knows, a lesson's number without LESSON=, a command that there is not. Nothing if all is
# well. usage: typos.sh "GOAL..." "VARIABLE..." EMPTY
# GOAL, VARIABLE: what stands on make's command line; EMPTY: "yes" if LESSON= is there without a
# value.
goals=$1 variables=$2 empty=$3
# Whatever a command of make's takes: what the Makefile exports, and what scripts find in their
# environment; and what builds the grader in another way.
known="$(sed -n 's/^export \([A-Z ]*\)$/\1/p' Makefile)
LESSON CAUSE DECK SAVE NAME FIGURES BUDGET SHARED PYTHON PARTNER BENCH_ONLY CC CXX CFLAGS CPPFLAGS LDFLAGS STRICT CUDA
TEST_SEED SAMPLE SOAK KINDS SUITE FUZZ_SECONDS CHROMIUM COLUMNS COURSE_CACHE_MB SHELL"

# nearest WORD NAMES: the name with the same letters, or with two edits at most.
nearest() {
    echo "$2" | tr ' ' '\n' | awk -v word="$1" '
        function least(a, b) { return a < b ? a : b }
        function distance(a, b,   i, j, d) {
            for (i = 0; i <= length(a); i++) d[i, 0] = i
            for (j = 0; j <= length(b); j++) d[0, j] = j
            for (i = 1; i <= length(a); i++)
                for (j = 1; j <= length(b); j++)
                    d[i, j] = least(least(d[i - 1, j], d[i, j - 1]) + 1,
                                    d[i - 1, j - 1] + (substr(a, i, 1) != substr(b, j, 1)))
            return d[length(a), length(b)]
        }
        $0 == "" { next }
        { n = distance(toupper(word), toupper($0)) }
        n <= 2 && (best == "" || n < fewest) { best = $0; fewest = n }
        END { print best }'
}

for variable in $variables; do
    case " $(echo "$known" | tr '\n' ' ') " in *" $variable "*) continue ;; esac
    meant=$(nearest "$variable" "$known")
    echo "$variable= is nothing that make knows here; ${meant:+did you mean $meant=? }README.md lists what there is"
    exit
done
if [ "$empty" = yes ]; then
    echo "LESSON= is empty: write LESSON=12, or leave it out where all lessons are meant"
    exit
fi
for goal in $goals; do
    [ "${goal#[0-9]}" = "$goal" ] && [ ! -d "lessons/$goal" ] && [ ! -d "$(echo lessons/[0-9][0-9]_"$goal")" ] && continue
    command=${goals%% *}
    [ "$command" != "$goal" ] || command=grade
    echo "write LESSON=$goal: make $command LESSON=$goal"
    exit
done
commands=$(sed -n 's/^\([a-z][a-z -]*\):.*/\1/p' Makefile)
for goal in $goals; do
    case $goal in */* | *.*) continue ;; esac # a file
    case " $(echo "$commands" | tr '\n' ' ') " in *" $goal "*) continue ;; esac
    meant=$(nearest "$goal" "$commands")
    echo "make $goal: there is no such command; ${meant:+did you mean make $meant? }make alone lists them"
    exit
done
