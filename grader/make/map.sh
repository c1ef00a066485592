#!/bin/sh
# map.sh: draws grader/map.svg, the picture of grader/README.md, of grader/map.lua.
# usage: map.sh [FILE]     (FILE: instead of grader/map.svg)
sh grader/make/figure.sh grader/map.lua "${1:-grader/map.svg}" "A grade from end to end"
