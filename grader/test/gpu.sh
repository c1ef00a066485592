#!/bin/sh
# gpu.sh: what `make test-gpu` runs on a machine with a GPU: every kernel of every lesson and every
# exploit, graded with DEVICE=cuda, a line each as soon as it is known. Solutions and right variants
# must score 100, steps more than half, stubs 0; a wrong kernel must lose points (graded up to the
# first item it fails) unless its mistake is one that only the CPU device sees: "skip". No exploit
# may gain.
# usage: gpu.sh LESSON...   (KINDS="stub right exploit wrong step": only these; JOBS=n at once)
. grader/test/tell.sh
. grader/make/file.sh
out=build/test/gpu
rm -rf "$out"
mkdir -p "$out"
jobs_of() { # jobs_of KIND LESSON...
    kind=$1
    shift
    if [ "$kind" = exploit ]; then
        for file in grader/test/exploits/*.cu; do echo "- exploit $file"; done
        return
    fi
    for lesson; do
        has_kernel "$lesson" || continue
        case $kind in
        stub)
            awk -f grader/make/cut.awk "$(solution "$lesson")" >"$out/$lesson.cu"
            echo "$lesson stub $out/$lesson.cu"
            ;;
        right)
            for file in "$(solution "$lesson")" "grader/$lesson"/right/*.cu; do
                echo "$lesson right $file"
            done
            ;;
        step) for file in "solutions/$lesson"/steps/*.cu; do echo "$lesson step $file"; done ;;
        wrong)
            sh grader/test/wrong.sh list "$lesson" >"$out/wrong" || exit 1
            sed "s/^/$lesson wrong /" "$out/wrong"
            ;;
        esac
    done
}
for kind in ${KINDS:-stub right exploit wrong step}; do jobs_of "$kind" "$@"; done >"$out/jobs"

cat >"$out/one.sh" <<'TEXT'
. grader/test/tell.sh
lesson=$1 kind=$2 file=$3
if [ "$kind" = exploit ]; then
    sh grader/test/exploit.sh "$file" "$("$build/doctor" | awk '$2 == "yes" { print $1; exit }')" cuda
    exit
fi
stop=
[ "$kind" != wrong ] || stop=--stop
found=$("$build/grader/$lesson/check" "$file" --format verdict --device cuda $stop 2>/dev/null | head -n 1)
# shellcheck disable=SC2086  # words
set -- $found
want=$(sed -n '1s|^// cause: ||p' "$file")
verdict=ok
case $kind in
stub) [ "${1:-1}" = 0 ] || verdict=FAIL ;;
right) [ "${1:-0}" = 100 ] || verdict=FAIL ;;
step) [ "${1:-0}" -gt 50 ] || verdict=FAIL ;;
wrong) [ "${1:-0}" != 100 ] || verdict=skip ;;
esac
[ "${2:-0}" -gt 0 ] || verdict=FAIL # there was no grade; a wrong kernel's ends at the item it fails
printf '%-5s %-5s %s/%s %s: %s%s\n' "$verdict" "$kind" "$1" "$2" "$file" "$4" "${want:+ (on the CPU: $want)}"
TEXT
xargs -P "${JOBS:-4}" -L 1 sh "$out/one.sh" <"$out/jobs" | tee "$out/results"
passed=$(grep -c '^ok' "$out/results")
failed=$(grep -c '^FAIL' "$out/results")
skipped=$(grep -c '^skip' "$out/results")
[ "$((passed + failed + skipped))" = "$(wc -l <"$out/jobs")" ] || tell FAIL gpu "a test ended without a word"
finish
