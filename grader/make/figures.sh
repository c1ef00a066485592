#!/bin/sh
# figures.sh: prints a text with its figures as they are recorded (figures.awk).
# usage: figures.sh TEXT
set -- "$1" plots/data/*/[0-9][0-9]_*.csv
text=$1
shift
for record; do # not those of make tune, nor counters
    shift
    case ${record##*/} in *.*.csv) ;; *) set -- "$@" "$record" ;; esac
done
awk -f grader/make/figures.awk "$@" "$text"
