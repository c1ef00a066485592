#!/bin/sh
# rooms.sh: who includes whom, and who calls whom. rooms.txt holds what is allowed between rooms;
# there is no circle between rooms, nor between the files of the rooms named below. x.c and x.h
# count as one file. No header asks what its includer has defined.
# usage: rooms.sh; rooms.sh graph prints the edges as "from to why", rooms first, then files
. grader/test/tell.sh
inside="cpu/rewrite cpu/device cpu/watch cpu/any class" # rooms without a circle of files
work=$build/test/rooms
mkdir -p "$work"

# Lines "from to" of files: every #include "..." of a header of ours.
git ls-files --cached --others --exclude-standard -- 'grader/*.[ch]' 'lessons/*.h' |
    grep -Ev '/(wrong|right|exploits|template|test)/' | while read -r file; do
    [ ! -f "$file" ] || sed -n "s|^ *# *include *\"\([^\"]*\)\".*|$file \1|p" "$file"
done | awk '
    function there(file, line, is) { is = (getline line < file) >= 0; close(file); return is }
    {
        folder = lesson = $1
        sub(/\/[^\/]*$/, "", folder)
        lesson = folder
        sub(/.*\//, "", lesson)
        n = split(folder "/ grader/ lessons/ lessons/" lesson "/ grader/cpu/include/", from, " ")
        for (i = 1; i <= n && !there(from[i] $2); i++) {}
        to = i > n ? "nowhere/" $2 : from[i] $2
        while (sub(/\/[^\/]+\/\.\.\//, "/", to)) {}
        print $1, to
    }' >"$work/includes"

# Lines "from to symbol" of files: what the objects of the rooms above call of each other.
for room in $inside; do
    for object in "$build/grader/$room"/*.o; do
        source=${object##*/} # an object of a file that is gone tells nothing
        [ -f "grader/$room/${source%.o}.c" ] || continue
        nm -P "$object" | sed "s|^|${object#"$build"/} |"
    done
done | awk '
    { file = $1; sub(/o$/, "c", file) }
    $3 ~ /^[TDBRVWC]$/ { home[$2] = file }
    $3 == "U" { user[++n] = file; symbol[n] = $2 }
    END { for (i = 1; i <= n; i++) if (symbol[i] in home) print user[i], home[symbol[i]], symbol[i] }' >"$work/calls"

# Edges between rooms, each with one file that makes it.
awk '
    function room(path, part) {
        if (path ~ /^lessons\/[0-9]/) return "contract"
        if (path ~ /^lessons\//) return "lessons"
        if (path ~ /^grader\/[0-9].*\/call\.c$/) return "CALL"
        if (path ~ /^grader\/[0-9]/) return "LESSON"
        if (path == "grader/wall/arena.h") return "arena"
        split(path, part, "/")
        if (part[1] == "nowhere") return path
        return part[2] == "cpu" && part[4] != "" ? "cpu/" part[3] : part[2]
    }
    { a = room($1); b = room($2) }
    # One lesson knows nothing of another, nor of its contract.
    (a == "LESSON" || a == "CALL") && b ~ /^(LESSON|CALL|contract)$/ {
        split($1, of, "/")
        split($2, to, "/")
        if (of[2] != to[2]) b = "another lesson"
    }
    a != b && !seen[a, b]++ { print a, b, $1 }' "$work/includes" "$work/calls" >"$work/rooms"

# Edges between the files of the rooms above.
awk -v inside="$inside" '
    BEGIN { n = split(inside, room, " ") }
    function module(path, i) {
        for (i = 1; i <= n; i++)
            if (index(path, "grader/" room[i] "/") == 1) {
                sub(/\.[ch]$/, "", path)
                return substr(path, 8)
            }
    }
    { a = module($1); b = module($2) }
    a && b && a != b && !seen[a, b]++ { print a, b, $3 ? $3 "()" : "#include" }' "$work/includes" "$work/calls" >"$work/files"

# circles EDGES: the edges that lie on circles: take away what leads nowhere, or comes from nowhere,
# until nothing goes.
circles() {
    awk '
        { a[NR] = $1; b[NR] = $2; line[NR] = $0 }
        END {
            do {
                split("", out); split("", in_)
                for (i = 1; i <= NR; i++) if (line[i] != "") { out[a[i]] = 1; in_[b[i]] = 1 }
                gone = 0
                for (i = 1; i <= NR; i++)
                    if (line[i] != "" && !(out[b[i]] && in_[a[i]])) { line[i] = ""; gone = 1 }
            } while (gone)
            for (i = 1; i <= NR; i++) if (line[i] != "") print line[i]
        }' "$1"
}

if [ "${1:-}" = graph ]; then
    sort "$work/rooms"
    sort "$work/files"
    exit
fi

awk '
    FILENAME ~ /rooms.txt$/ {
        if ($2 == ":") { listed[$1] = 1; for (i = 3; i <= NF; i++) may[$1, $i] = 1 }
        next
    }
    !listed[$1] { print $1 " is not in grader/test/rooms.txt (" $3 ")" }
    listed[$1] && !may[$1, $2] { print $3 " takes " $2 " into " $1 }' grader/test/rooms.txt "$work/rooms" >"$work/refused"
expect "rooms include only the rooms that grader/test/rooms.txt allows" sh -c "cat $work/refused; ! [ -s $work/refused ]"
circles "$work/rooms" >"$work/circles"
expect "no circle of rooms" sh -c "cat $work/circles; ! [ -s $work/circles ]"
if [ -s "$work/calls" ]; then
    circles "$work/files" >"$work/circles"
    expect "no circle of files in $inside" sh -c "cat $work/circles; ! [ -s $work/circles ]"
else
    tell skip "no circle of files in $inside" "the objects are not built (make ready)"
fi

# A header means what it says itself, and what it includes. A submission may define what it likes.
git ls-files --cached --others --exclude-standard -- '*.c' '*.h' '*.cu' '*.cpp' '*.inc' |
    grep -Ev '^(exercises|grader/test/exploits)/' | while read -r file; do
    [ ! -f "$file" ] || echo "$file"
done | xargs awk -f grader/test/switches.awk >"$work/switches"
expect "no #define in front of an include that reads it" sh -c "cat $work/switches; ! [ -s $work/switches ]"
finish
