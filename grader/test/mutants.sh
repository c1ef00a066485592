#!/bin/sh
# mutants.sh: what `make mutants LESSON=05` does: makes slips of one token in the solution, one at a
# time (mutants.awk), grades each, and shows those that get 100. Such a mutant is no mistake by the
# contract, or a hole: then it becomes a wrong kernel (make wrong LESSON=05 SAVE=NAME).
# usage: mutants.sh LESSON           SAMPLE="20 WORD" in the environment: one in twenty, drawn by WORD
#        mutants.sh grade LESSON N   for xargs: mutant N of the list
. grader/test/tell.sh

# The quickest level of isolation.
ISOLATION=${ISOLATION:-$("$build/doctor" | awk '/^(bubblewrap|userid|limits)\tyes/ { level = $1 } END { print level }')}
export ISOLATION

# The mutants: build/mutants/LESSON/list; in done, a line for each that was graded.
if [ "$1" = grade ]; then
    lesson=$2 out=build/mutants/$2 solution=solutions/$2/${2#*_}.cu
    file=$(printf '%s/%04d.cu' "$out" "$3")
    awk -F '\t' -v n="$3" 'NR == FNR { if (FNR == n) { at = $1; new = $3 } next }
        FNR == at { $0 = new } 1' "$out/list" "$solution" >"$file"
    read -r points most _ causes _ <<TEXT
$("$build/grader/$lesson/check" "$file" --format verdict --device cpu --isolation "$ISOLATION" --seed "${TEST_SEED:-2026}" --stop 2>/dev/null)
TEXT
    result=rejected
    case ${causes:-none} in *compile_error*) result="do not compile" ;; esac
    [ "${points:-0}" != "${most:-1}" ] || result="get 100"
    [ -n "$points" ] || result="were not graded"
    echo "$result" >>"$out/done"
    if [ "$result" = "get 100" ]; then
        awk -F '\t' -v n="$3" -v file="$file" '
            NR == FNR { if (FNR == n) { at = $1; slip = $2; new = $3 } next }
            FNR == at { printf "100 of 100: line %d, %s: %s\n%s\n%s\n", at, slip, file, $0, new }' "$out/list" "$solution"
    else
        rm -f "$file"
    fi
    [ ! -t 2 ] || printf '\r  %d of %d \r' "$(wc -l <"$out/done")" "$(wc -l <"$out/drawn")" >&2
    exit 0
fi

lesson=$1 out=build/mutants/$1 solution=solutions/$1/${1#*_}.cu
[ -f "$solution" ] || {
    echo "$lesson has no kernel: there is nothing to change." >&2
    exit 2
}
rm -rf "$out" && mkdir -p "$out" && : >"$out/done" || exit 2
awk -f grader/test/mutants.awk "$solution" >"$out/list"
seq "$(wc -l <"$out/list")" | sample "mutants $lesson" >"$out/drawn"
echo "$solution: $(wc -l <"$out/list") slips of one token, $(wc -l <"$out/drawn") are graded"
xargs -P "$(nproc)" -I N sh grader/test/mutants.sh grade "$lesson" N <"$out/drawn"
! grep -q "not graded" "$out/done" || status=1
sort "$out/done" | uniq -c | awk '{ n = $1; $1 = ""; said = said (said ? "," : "") " " n $0 } END { print " " said }'
exit "${status:-0}"
