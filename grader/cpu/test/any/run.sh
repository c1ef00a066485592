#!/bin/sh
# run.sh: what a file that is not graded may do: sh run.sh BUILD_DIR [NAME]; a line per test, exit
# status 1 if any failed. Each file's first line says what happens:
#   // runs [with OPTION...]   plain and watched it ends with 0, and nothing is found
#   // ends: TEXT              it ends with status 86, saying so
#   planted/: // finds: KIND   watched, this is found and nothing else; // says: TEXT appears
#   refused/: // refused: NAME it does not compile: NAME, with the line of that comment
# SAMPLE="96 WORD" in the environment: one in four, drawn by WORD.
set -u
here=$(cd "$(dirname "$0")" && pwd) || exit 1
. "$here/../../../test/tell.sh"
build=${1:?usage: run.sh BUILD_DIR [NAME]}
only=${2:-}
build=$(cd "$build" && pwd) || exit 1
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
trap 'exit 1' INT TERM
export CUDEV_BUILD="$build" CUDEV_TIMEOUT=60
cudev=$here/../../cudev.sh
cd "$here" || exit 1

# cudev ARGUMENT...: with the headers of the tests
run() {
    timeout 200 sh "$cudev" --run "$@" -I.. -DCUDEV_TEST </dev/null
}

# one FILE LOG
one() {
    says=$(sed -n '1s|^// ||p' "$1")
    case $1 in
    refused/*)
        line=$(grep -n '// refused: ' "$1" | cut -d: -f1)
        name=$(sed -n 's|.*// refused: ||p' "$1")
        ! run "$1" >"$2" 2>&1 && grep -q "^any/$1:$line:[0-9]*: error: not on the CPU device: $name\|^$1:$line:[0-9]*: error: not on the CPU device: $name" "$2"
        ;;
    planted/*)
        run --watch=check "$1" >"$2" 2>&1
        sed -n 's/^==CPU device== FINDING: \([a-z_]*\).*/\1/p' "$2" | sort -u >"$2.found"
        [ "finds: $(cat "$2.found")" = "$says" ] &&
            sed -n 's|^// says: ||p' "$1" | while read -r text; do
                grep -qF -- "$text" "$2" || { echo "not said: $text" >>"$2"; exit 1; }
            done
        ;;
    *)
        case $says in
        runs*)
            # shellcheck disable=SC2086  # words
            set -- "$1" "$2" ${says#runs} ''
            file=$1 log=$2
            shift 2
            [ "$1" != with ] || shift
            options=''
            for word; do options="$options $word"; done
            # shellcheck disable=SC2086
            run "$file" $options >"$log" 2>&1 &&
                run --watch=check "$file" $options >>"$log" 2>&1 && ! grep -q FINDING "$log"
            ;;
        ends:*)
            run "$1" >"$2" 2>&1
            [ $? -eq 86 ] && grep -qF -- "${says#ends: }" "$2"
            ;;
        *) false ;;
        esac
        ;;
    esac
}

for file in *"$only"*.cu planted/*"$only"*.cu refused/*"$only"*.cu; do
    [ ! -f "$file" ] || echo "$file"
done | sample any 24 >"$work/files"
half() {
    i=0
    while read -r file; do
        i=$((i + 1))
        [ $((i % 2)) -eq "$1" ] || continue
        log=$work/$(echo "$file" | tr / _)
        if one "$file" "$log" </dev/null; then
            echo "ok      any/${file%.cu}"
        else
            echo "FAILED  any/${file%.cu}"
            sed 's/^/        /' "$log" | head -40
        fi >"$log.result"
    done <"$work/files"
}
half 0 &
half 1
wait
cat "$work"/*.result
! grep -q '^FAILED' "$work"/*.result
