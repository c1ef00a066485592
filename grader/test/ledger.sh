# ledger.sh: what was green, so that it need not be run again. Sourced, not run.
# shellcheck shell=sh
# build/ledger/NAME holds a line for each success: KEY, a tab, what a test wants to know of it
# later, a tab and a full stop. Several programs may write at once. A line without its end counts
# for nothing, a lost file costs time only.

# ledger_add NAME KEY [TEXT]
ledger_add() {
    mkdir -p build/ledger
    {
        flock 8
        printf '%s\t%s\t.\n' "$2" "${3:-}" >>"build/ledger/$1"
    } 8>>build/ledger/.lock
}

# ledger_has NAME KEY
ledger_has() {
    awk -F '\t' -v key="$2" '$1 == key && NF == 3 && $3 == "." { found = 1; exit }
        END { exit !found }' "build/ledger/$1" 2>/dev/null
}

# ledger_lacks NAME: the lines of stdin whose last word is none of its keys.
ledger_lacks() {
    mkdir -p build/ledger
    touch "build/ledger/$1"
    awk '
        known {
            n = split($0, part, "\t")
            if (n == 3 && part[3] == ".") has[part[1]]
            next
        }
        !($NF in has)' known=1 "build/ledger/$1" known=0 -
}

# ledger_trim: keeps the newest 4000 lines of each file.
ledger_trim() {
    mkdir -p build/ledger
    {
        flock 8
        for trimmed in build/ledger/*; do
            [ -f "$trimmed" ] && [ "$(wc -l <"$trimmed")" -gt 4000 ] || continue
            tail -n 4000 "$trimmed" >"$trimmed.new" && mv "$trimmed.new" "$trimmed"
        done
    } 8>>build/ledger/.lock
}

# basis LESSON SCRIPT: a hash of all that decides what SCRIPT says of a file of this lesson, besides
# that file: the check, what the file is compiled and linked with, and the script. A comment in the
# check's sources moves lines, which only a debugger sees.
basis() {
    check=$build/grader/$1/check
    code=$check.$$
    objcopy -g -R .note.gnu.build-id "$check" "$code" || return
    { "$check" --key && cat "$code" "$2"; } | sha256sum | cut -c 1-24
    rm -f "$code"
}
