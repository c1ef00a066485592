#!/bin/sh
# profile.sh: what `make profile LESSON=05` does: where the kernel's memory traffic comes from, line
# by line, counted on the CPU device. FORMAT=csv or json: all of it, for programs. usage: profile.sh
# LESSON
lesson=$1
. grader/make/file.sh
need_kernel "$lesson" profile
file=$(file_of "$lesson")
set -- profile "$file" --device cpu --format "${FORMAT:-table}"
[ -n "$CASE" ] && set -- "$@" --case "$CASE"
[ -n "$CARD" ] && set -- "$@" --card "$CARD"
[ -n "$SEED" ] && set -- "$@" --seed "$SEED"
exec "$build/grader/$lesson/check" "$@"
