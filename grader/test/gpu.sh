#!/bin/sh
# gpu.sh: what `make test-gpu` runs on a machine with a GPU: every kernel of every lesson and every
# exploit, graded with DEVICE=cuda, as a table. Solutions, steps and right variants must score 100 and
# stubs 0; every wrong kernel must lose points unless its mistake is one that only the CPU device
# sees (the table says so); no exploit may gain.
# usage: gpu.sh LESSON...
. grader/test/tell.sh
out=build/test/gpu
rm -rf "$out"
mkdir -p "$out"
for lesson; do
    awk -f grader/make/cut.awk "solutions/$lesson/${lesson#*_}.cu" >"$out/$lesson.cu"
    echo "$lesson stub $out/$lesson.cu"
    echo "$lesson right solutions/$lesson/${lesson#*_}.cu"
    for file in "solutions/$lesson"/steps/*.cu; do echo "$lesson step $file"; done
    for file in "grader/$lesson"/right/*.cu; do echo "$lesson right $file"; done
    for file in "grader/$lesson"/wrong/*.cu; do echo "$lesson wrong $file"; done
done >"$out/jobs"
for file in grader/test/exploits/*.cu; do echo "- exploit $file"; done >>"$out/jobs"

cat >"$out/one.sh" <<'TEXT'
lesson=$1 kind=$2 file=$3
if [ "$kind" = exploit ]; then
    sh grader/test/exploit.sh "$file" "$(build/doctor | awk '$2 == "yes" { print $1; exit }')" cuda
    exit
fi
found=$("build/grader/$lesson/check" "$file" --format json --device cuda 2>&1 |
    awk -f grader/test/verdict.awk)
# shellcheck disable=SC2086  # words
set -- $found
want=$(sed -n '1s|^// cause: ||p' "$file")
verdict=ok
case $kind in
stub) [ "$1" = 0 ] && [ "$2" = 100 ] || verdict=FAIL ;;
right) [ "$1" = 100 ] || verdict=FAIL ;;
step) [ "$1" -gt 50 ] || verdict=FAIL ;;
wrong) [ "$1" != 100 ] || verdict=skip ;;
esac
printf '%-5s %-5s %3s/%s  %s: %s%s\n' "$verdict" "$kind" "$1" "$2" "$file" "$4" "${want:+ (on the CPU: $want)}"
TEXT
xargs -P "${JOBS:-8}" -L 1 sh "$out/one.sh" <"$out/jobs" >"$out/results"
sort -k2,2 -k4,4 "$out/results"
passed=$(grep -c '^ok' "$out/results")
failed=$(grep -c '^FAIL' "$out/results")
skipped=$(grep -c '^skip' "$out/results")
finish
