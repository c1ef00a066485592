#!/bin/sh
# wrong.sh: a lesson's wrong kernels as files (.cu; .txt in a lesson without a kernel). Each is kept
# as the edit that makes a right kernel wrong, grader/LESSON/wrong/NAME.patch: "cause: id", what the
# mistake is, an empty line, and a unified diff whose "---" line names the right kernel. A wrong
# kernel of a design of its own is a whole NAME.cu there.
# usage: wrong.sh list LESSON...          makes build/wrong/LESSON/NAME.cu of every patch; prints a file a
#                                         line; 1 if one could not be made, with the reason on stderr
#        wrong.sh save LESSON NAME|all    writes the patch anew: from build/wrong/LESSON/NAME.cu if that was
#                                         edited, else for the right kernel as it is now
# An unpacked kernel begins with the patch's head as comments, "// base: FILE", and an empty line.
# A copy as it was made is kept in .made/, with its base. The copy tells whether the kernel was
# edited; an edited kernel is never overwritten.
. grader/make/file.sh
command -v patch >/dev/null || {
    echo "The program patch is not installed. Run: sh setup.sh" >&2
    exit 2
}
status=0
complain() {
    printf '%s\n' "$*" >&2
    status=1
}

# There are thousands of them: what unpacks one starts no program that the shell can do without.
lesson_is() { # lesson_is LESSON: the next ones are of it
    ending=$(ending_of "$1")
    mkdir -p "build/wrong/$1/.made"
}
at() { # at LESSON NAME: where its files are
    source=grader/$1/wrong/$2.patch
    file=build/wrong/$1/$2.$ending
    made=build/wrong/$1/.made/$2
    again="make wrong LESSON=${1%%_*} SAVE=$2"
}

head_of() { sed '/^$/,$d' "$1"; }
body_of() { sed '1,/^$/d' "$1"; }

edited() { [ -e "$file" ] && ! cmp -s "$file" "$made.$ending"; }

# base_of_patch: sets base, and hunk, which is empty if the patch edits nothing
base_of_patch() {
    base='' hunk=''
    while [ -z "$hunk" ] && IFS= read -r line; do
        case $line in
        '--- '*) base=${line#--- } ;;
        @@*) hunk=$line ;;
        esac
    done <"$source"
    [ -f "$base" ] && return
    complain "$source: its line \"--- FILE\" must name the right kernel that it edits, from the top of the course."
    return 1
}

# patched OPTION...: prints the kernel that the patch makes of its base, with its head, which the
# shell reads; patch reads on behind it.
patched() {
    {
        while IFS= read -r line && [ -n "$line" ]; do printf '// %s\n' "$line"; done
        printf '// base: %s\n\n' "$base"
        # No hunk: a step on the way, wrong as it stands.
        if [ -n "$hunk" ]; then
            patch -s -N -r - "$@" -o - "$base" 2>/dev/null
        else
            cat "$base"
        fi
    } <"$source"
}

unpack() {
    base_of_patch || return
    case $base in
    */steps/* | */right/*) ;;
    *)
        [ -n "$hunk" ] || {
            complain "$source edits nothing: the solution is right as it stands. To mend it: $again"
            return
        }
        ;;
    esac
    # No fuzz: an edit at a place that has changed may be another mistake than the one it tells.
    if ! patched -F0 >"$made.new"; then
        edited && echo "$file has edits that are not saved." >&2
        complain "$source does not fit $base any more. To mend it: $again"
    elif edited && ! cmp -s "$file" "$made.new"; then
        complain "$file was edited: $again keeps that; delete the file to drop it."
    else
        cp "$made.new" "$made.$ending" && cp "$base" "$made.base" && mv "$made.new" "$file" && echo "$file"
    fi
}

# state LESSON: the hashes of all that unpacking reads and writes.
state() {
    # shellcheck disable=SC2046  # words
    sha256sum grader/test/wrong.sh grader/make/file.sh "grader/$1/wrong"/* \
        $(sed -n 's/^--- //p' "grader/$1/wrong"/*.patch 2>/dev/null | sort -u) \
        "build/wrong/$1"/*."$(ending_of "$1")" "build/wrong/$1/.made"/* 2>/dev/null
}

# list LESSON: nothing is unpacked if all is as it was then.
list() {
    listed=build/wrong/$1/.listed
    mkdir -p "build/wrong/$1"
    if ! state "$1" | cmp -s - "$listed.state"; then
        before=$status status=0
        rm -f "$listed.state"
        unpack_all "$1" >"$listed"
        [ $status = 0 ] && state "$1" >"$listed.state"
        [ $before = 0 ] || status=1
    fi
    cat "$listed"
}

unpack_all() { # unpack_all LESSON
    lesson_is "$1"
    for kernel in "grader/$1/wrong"/*."$ending"; do
        [ ! -e "$kernel" ] || echo "$kernel"
    done
    for kernel in "grader/$1/wrong"/*.patch; do
        [ -e "$kernel" ] || continue
        name=${kernel##*/}
        at "$1" "${name%.patch}"
        unpack
    done
    # What is left has no patch: not yet, or no longer.
    for kernel in "build/wrong/$1"/*."$ending"; do
        [ -e "$kernel" ] || continue
        name=${kernel##*/}
        at "$1" "${name%.*}"
        [ ! -e "$source" ] || continue
        # A conflict with a solution that has moved on is over once its patch is gone.
        if edited && ! grep -q '^<<<<<<<' "$file"; then complain "$file is not saved: $again"; else rm -f "$file" "$made".*; fi
    done
}

# save LESSON NAME
save() {
    lesson_is "$1"
    at "$1" "$2"
    if edited; then
        base=$(sed -n '/^$/q; s|^// base: ||p' "$file")
        base=${base:-$(solution "$1")}
        # The base moved on since the edit began: take its changes over.
        if grep -qxF "// base: $base" "$made.$ending" 2>/dev/null && ! cmp -s "$base" "$made.base"; then
            { head_of "$file"; echo; cat "$made.base"; } >"$made.old"
            { head_of "$file"; echo; cat "$base"; } >"$made.new"
            git merge-file -q "$file" "$made.old" "$made.new"
            cp "$base" "$made.base"
            rm -f "$made.old" "$made.new"
        fi
    elif [ -e "$source" ]; then
        base_of_patch || return
        patched --merge >"$file"
        cp "$base" "$made.base"
    else
        complain "There is neither $source nor an edited $file."
        return
    fi
    if grep -q '^<<<<<<<' "$file"; then
        echo "// base: $base" >"$made.$ending"
        complain "$file holds the lines that do not fit $base, between <<<<<<< and >>>>>>>. Mend them, then: $again"
        return
    fi
    if ! head_of "$file" | grep -q '^// cause: ' || ! [ -f "$base" ]; then
        complain "$file must begin with \"// cause: id\", comments that say the mistake, and an empty line; then follows an edit of $base."
        return
    fi
    {
        head_of "$file" | sed '/^\/\/ base: /d; s|^// \{0,1\}||'
        echo
        printf -- '--- %s\n+++ %s\n' "$base" "$2.$ending"
        body_of "$file" | diff -U1 --suppress-blank-empty "$base" - | sed 1,2d
    } >"$source"
    cp "$file" "$made.$ending"
    unpack
}

task=$1
shift
case $task in
list) for lesson; do list "$lesson"; done ;;
save)
    if [ "$2" != all ]; then save "$1" "$2"; else
        for kernel in "grader/$1/wrong"/*.patch; do save "$1" "$(basename "$kernel" .patch)"; done
    fi
    ;;
esac
exit $status
