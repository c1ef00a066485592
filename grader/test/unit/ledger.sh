#!/bin/sh
# ledger.sh: what is added is found, by any number of writers; a damaged line counts for nothing.
course=$(pwd)
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
cd "$dir" || exit 1
. "$course/grader/test/ledger.sh"
status=0
wrong() {
    echo "$*"
    status=1
}
! ledger_has kernels a || wrong "a ledger that does not exist has a key"
for writer in 1 2 3 4; do
    for n in $(seq 1 50); do ledger_add kernels "$writer-$n" "fresh 1 an item|of two"; done &
done
wait
[ "$(grep -c '^[1-4]-[0-9]*	fresh 1 an item|of two	\.$' build/ledger/kernels)" = 200 ] ||
    wrong "lines of four writers are not whole"
ledger_has kernels 4-50 || wrong "a key is not found"
! ledger_has kernels 4-5. || wrong "a key is taken for a pattern"
! ledger_has kernels 4-51 || wrong "a key is found that was not added"
[ "$(printf 'one 4-50\ntwo 4-51\nthree 4-5.\n' | ledger_lacks kernels | tr '\n' ' ')" = "two 4-51 three 4-5. " ] ||
    wrong "of several keys others are lacking"
[ "$(echo a b | ledger_lacks none)" = "a b" ] || wrong "an empty ledger has a key"
printf 'cut-off\tfresh 1 an it' >>build/ledger/kernels
! ledger_has kernels cut-off || wrong "half a line counts"
head -c 300 /dev/urandom >>build/ledger/kernels
ledger_has kernels 1-1 || wrong "a damaged file has lost what stood before"
seq 1 5000 >build/ledger/numbers
ledger_trim
[ "$(wc -l <build/ledger/numbers) $(tail -n 1 build/ledger/numbers)" = "4000 5000" ] ||
    wrong "the newest lines are not kept"
exit $status
