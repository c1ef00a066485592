#!/bin/sh
# texts.sh: what `make texts` does: draws the pictures of the lessons' texts (figure.sh), runs the
# commands that they show and puts what these print now in the place of what they printed then. In a
# text, a command is a line of its own,
#     make grade ... (or make profile ..., make tune ..., make proof)
# indented by four spaces, and its output the ``` block that follows. Between <!-- bench --> and
# <!-- /bench --> goes what make bench recorded, if anything, and the ladder that make plots drew of
# it; between those of counters a table whose columns up to `gpu` are shown; between those of steps
# the same of LESSON.steps.csv, between those of after of LESSON.after.csv, in answers.md, and
# between those of formats what grader/LESSON/formats.sh prints. A figure in a sentence, behind a
# comment that names its record, is put in by figures.awk. usage: texts.sh LESSON...   with
# FIGURES=only in the environment: tables and pictures alone, no command is run
unset MAKEFLAGS MAKELEVEL MFLAGS # what make says of itself is no part of a text
export COLUMNS=100 COURSE_WITHOUT_NVCC=1 # as wide as the texts' code; the same on each machine
new=$(mktemp) || exit 2
recorded() { # recorded LESSON.ENDING: the figures of the first GPU there are some of
    for csv in plots/data/*/"$1"; do
        [ -e "$csv" ] || continue
        awk -v sizes=4 -f grader/make/bench_table.awk "$csv"
        for ladder in plots/svg/ladder_${1%%_*}.svg plots/svg/own_${1%%_*}.svg; do
            [ ! -e "$ladder" ] || sed -n "s|^<title>\(.*\)</title>\$|\n![\1](../../$ladder)|p" "$ladder"
        done
        return
    done
    echo "(no run has been recorded yet)"
}
# The columns of LESSON.counters.csv up to `gpu`, and where they were counted.
counted() {
    for csv in plots/data/*/"$1"; do
        [ -e "$csv" ] || continue
        awk -F, 'NR == 1 { for (shown = 1; $(shown + 1) != "gpu";) shown++ }
            { for (c = 1; c <= shown; c++) printf "| %s ", $c; print "|" }
            NR == 1 { for (c = 1; c <= shown; c++) printf "|---"; print "|" }
            END { printf "\n%s, driver %s, CUDA %s, %s.\n", $(shown + 1), $(shown + 2), $(shown + 3), $(shown + 4) }' "$csv"
        return
    done
}
trap 'rm -f "$new" "$new.bench" "$new.counters" "$new.steps" "$new.after" "$new.formats" "$new.figures"' EXIT
refresh() { # refresh TEXT
    awk '
        !figures && /^    make (grade |profile |tune |proof$)/ { command = $0; print; next }
        command != "" && /^```/ {
            print
            # make says at the end that the score was not full: that is no news.
            run = "sh -c '\''" "exec 2>&1; " substr(command, 5) "'\'' | grep -v \"^make.*: [*]\""
            if (index(command, "'\''")) {
                file = "build/texts.sh"
                print substr(command, 5) " 2>&1" > file
                close(file)
                run = "sh " file " | grep -v \"^make.*: [*]\""
            }
            while ((run | getline line) > 0) print line
            close(run)
            while ((getline line) > 0 && line !~ /^```/) {}
            print "```"
            command = ""
            next
        }
        NF && $0 !~ /^    make / { command = "" }
        /^<!-- (bench|counters|steps|after|formats) -->$/ {
            print
            system("cat " new "." $2)
            end = "<!-- /" $2 " -->"
            while ((more = getline line) > 0 && line != end) {}
            if (more <= 0) { # or the rest of the text would be lost
                print FILENAME ": no line is " end > "/dev/stderr"
                exit 1
            }
            print end
            next
        }
        { print }' new="$new" figures="$FIGURES" "$1" >"$new" &&
        sh grader/make/figures.sh "$new" >"$new.figures" && cp "$new.figures" "$1" && echo "$1" || exit 1
}
for lesson; do
    recorded "$lesson.csv" >"$new.bench"
    [ ! -e "grader/$lesson/formats.sh" ] || sh "grader/$lesson/formats.sh" >"$new.formats" || exit 1
    counted "$lesson.counters.csv" >"$new.counters"
    counted "$lesson.steps.csv" >"$new.steps"
    counted "$lesson.after.csv" >"$new.after"
    [ -n "$FIGURES" ] || sh grader/test/wrong.sh list "$lesson" >/dev/null || exit 1
    refresh "lessons/$lesson/README.md"
    [ ! -e "lessons/$lesson/answers.md" ] || refresh "lessons/$lesson/answers.md"
done
sh grader/make/figure.sh texts || exit 1
# What shows several lessons is made with all of them.
[ -n "$FIGURES" ] || [ $# = 1 ] || {
    refresh grader/cpu/README.md
    sh grader/make/ideas.sh && sh grader/make/picture.sh
}
