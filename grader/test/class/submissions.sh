#!/bin/sh
# submissions.sh: makes a class for lesson 05: right, wrong and hostile submissions in every layout,
# and what each has to get.
# usage: submissions.sh DIR COUNT     writes DIR/submissions (COUNT of them), DIR/roster.csv (with one more, who
#        hands in nothing) and DIR/expected: lines of ID|POINTS|NOTE, sorted by ID; where a NOTE ends in *, the row's
#        goes on
# Right ones get 100, exploits 0; what is only costly keeps the other points: 60. Where it is only
# about what is read, the exercise is handed in: its row says that it came whole, and it takes a
# tenth of the time.
# SAMPLE="96 WORD" in the environment: one in four of the kinds that are exploits, drawn by WORD.
. grader/test/tell.sh
set -eu
export LC_ALL=C
dir=$1 count=$2
solution=solutions/05_tiled_matmul/tiled_matmul.cu
exercise=exercises/05_tiled_matmul/tiled_matmul.cu
as_handed_out="0 of 100; the exercise as it was handed out"
mkdir -p "$dir/submissions"
to=$(cd "$dir/submissions" && pwd)
: >"$dir/expected"
echo "student,email" >"$dir/roster.csv"

expect() { echo "$1|$2|$3" >>"$dir/expected"; }
hash() { printf %b "$1" | sha256sum | cut -c 1-8; } # of a name, as an id has it

# archive NAME FILE COMMAND...: COMMAND packs FILE as tiled_matmul.cu of the current folder into
# NAME
archive() {
    mkdir "$dir/pack"
    cp "$2" "$dir/pack/tiled_matmul.cu"
    name=$1
    shift 2
    (cd "$dir/pack" && "$@") >/dev/null
    mv "$dir/pack/$name" "$to/"
    rm -rf "$dir/pack"
}

# hostile FILE: an exploit that lasts does so in one item of ten, where sizes differ: each would
# take all the time that an item has.
hostile() { sed 's/int K) {$/& if (M == N || M % 32) return 7;/' "grader/test/exploits/$1.cu"; }

one() { # one NUMBER: its kind is the number modulo 26
    n=$(printf '%03d' "$1")
    case $(($1 % 26)) in 2 | 5 | 16 | 17 | 20 | 21 | 23 | 25) drawn "class $(($1 % 26))" 24 || return 0 ;; esac
    case $(($1 % 26)) in
    0) cp "$solution" "$to/right$n.cu" && expect "right$n" 100 "100 of 100" ;;
    1)
        mkdir -p "$to/folder$n/my work/05_tiled_matmul"
        cp grader/05_tiled_matmul/right/double_buffer.cu "$to/folder$n/my work/05_tiled_matmul/tiled_matmul.cu"
        cp "$exercise" "$to/folder$n/" # the stub beside it is not meant
        expect "folder$n" 100 "100 of 100"
        ;;
    2) hostile endless_kernel >"$to/endless$n.cu" && expect "endless$n" 0 "0 of 100; *" ;;
    3) cp "$exercise" "$to/stub$n.cu" && expect "stub$n" 0 "$as_handed_out" ;;
    4) cp solutions/05_tiled_matmul/steps/1_coalesced.cu "$to/naive$n.cu" && expect "naive$n" 60 "60 of 100" ;;
    5) hostile fork_bomb >"$to/forks$n.cu" && expect "forks$n" 0 "0 of 100; *" ;;
    6) sed 's/int K) {/int K) { this is no C;/' "$solution" >"$to/broken$n.cu" && expect "broken$n" 0 "0 of 100; does not compile: *" ;;
    7) archive "zip$n.zip" "$solution" zip -q "zip$n.zip" tiled_matmul.cu && expect "zip$n" 100 "100 of 100" ;;
    8) archive "tar$n.tar.gz" "$solution" tar czf "tar$n.tar.gz" ./tiled_matmul.cu && expect "tar$n" 100 "100 of 100" ;;
    9) # a path that leads out of any folder: read, and written nowhere
        archive "out$n.tar" "$exercise" tar cf "out$n.tar" -P --transform 's|^|../../../../../tmp/class_escape/|' tiled_matmul.cu
        expect "out$n" 0 "$as_handed_out; its path in the archive has .., taken as tiled_matmul.cu"
        ;;
    10) ln -s "$(pwd)/$solution" "$to/link$n.cu" && expect "link$n" 0 "not taken: a symbolic link" ;;
    11) mkfifo "$to/fifo$n.cu" && expect "fifo$n" 0 "not taken: not a regular file" ;;
    12) # a name that is no UTF-8, and would like to be two lines
        cp "$exercise" "$to/$(printf 'caf\351%s\nada' "$n").cu" && expect "café${n}_ada ~$(hash "café$n\nada")" 0 "$as_handed_out"
        ;;
    13) cp "$exercise" "$to/=HYPERLINK(1)$n.cu" && expect "'=HYPERLINK(1)$n" 0 "$as_handed_out" ;;
    14) : >"$to/empty$n.cu" && expect "empty$n" 0 "not taken: an empty file" ;;
    15) head -c 2000000 /dev/zero >"$to/large$n.cu" && expect "large$n" 0 "not taken: larger than 1 MiB" ;;
    16) hostile endless_output >"$to/talks$n.cu" && expect "talks$n" 0 "0 of 100; *" ;;
    17) hostile memory_hog >"$to/hog$n.cu" && expect "hog$n" 0 "0 of 100; *" ;;
    18) echo "this is no archive" >"$to/torn$n.zip" && expect "torn$n" 0 "not taken: no archive, or a broken one" ;;
    19) # a few kilobytes that unpack to 300 MB
        mkdir "$dir/pack"
        truncate -s 300M "$dir/pack/big"
        XZ_OPT=-0 tar -C "$dir/pack" -cJf "$to/bomb$n.tar.xz" big
        rm -rf "$dir/pack"
        expect "bomb$n" 0 "not taken: an archive that is far too large"
        ;;
    20) sed "s|@ROOT@|$(pwd)|" grader/test/exploits/reads_solution.cu >"$to/reads$n.cu" && expect "reads$n" 0 "0 of 100; *" ;;
    21) cp grader/test/exploits/prints_report.cu "$to/forges$n.cu" && expect "forges$n" 0 "0 of 100; *" ;;
    22) # in a folder: the exercise is a folder, a link leads to the solution
        mkdir -p "$to/empty_folder$n/tiled_matmul.cu"
        ln -s "$(pwd)/solutions" "$to/empty_folder$n/solutions"
        expect "empty_folder$n" 0 "missing; handed in: solutions; wanted: tiled_matmul.cu"
        ;;
    23) cp grader/test/exploits/kills_parent.cu "$to/kills$n.cu" && expect "kills$n" 0 "0 of 100; *" ;;
    24) # what a kernel prints must not be taken for markup by anybody
        mkdir "$to/<b>&amp;$n"
        {
            echo '#include <stdio.h>'
            sed 's~    if (M < 0 .*~    printf("<script>]]></failure>::set-output::\\033[31m|%%# not ok 1 \\xff \\xef\\xbf\\xbe \\xed\\xa0\\x80 \\xc2\\x9b[m \\xe2\\x80\\xae\\n");\n    if (M >= 0) return 7;~' \
                "$solution"
        } >"$to/<b>&amp;$n/tiled_matmul.cu"
        expect "<b>&amp;$n" 0 "0 of 100; *"
        ;;
    25) cp grader/test/exploits/late_writer.cu "$to/late$n.cu" && expect "late$n" 0 "0 of 100; *" ;;
    esac
}

i=0
while [ "$i" -lt "$count" ]; do
    one "$i"
    i=$((i + 1))
done
# Twice the same student: the exercise as it was handed out hides no work, though it is later.
mkdir "$to/twice"
cp "$solution" "$to/twice/"
touch -d '2026-11-20 12:00' "$to/twice/tiled_matmul.cu"
cp "$exercise" "$to/twice.cu"
expect twice 100 "100 of 100"
# A name that begins with a blank
mkdir "$to/ blank" && cp "$exercise" "$to/ blank/"
expect " blank" 0 "$as_handed_out"
cp solutions/12_flash_forward/flash_forward.cu "$to/other_12_flash_forward.cu"
# Archives with a link, and with what is too large.
archive linked.tar "$solution" sh -c 'ln -sf /etc/passwd tiled_matmul.cu && tar cf linked.tar tiled_matmul.cu'
expect linked 0 "not taken: not a regular file"
archive swollen.zip "$solution" sh -c 'truncate -s 2M tiled_matmul.cu && zip -q swollen.zip tiled_matmul.cu'
expect swollen 0 "not taken: larger than 1 MiB"
# One that ends too early, behind what is looked for; a second hand-in in which that is not.
archive cut.tar "$solution" sh -c 'head -c 90000 /dev/zero >later && tar cf whole.tar tiled_matmul.cu later && head -c 60000 whole.tar >cut.tar'
expect cut 100 "100 of 100; from an archive that cannot be read to its end"
mkdir "$to/besides"
cp "$exercise" "$to/besides/"
archive besides.zip "$exercise" sh -c 'echo nothing >notes.txt && zip -q besides.zip notes.txt'
expect besides 0 "$as_handed_out"
# Long, and no character of XML.
long=$(printf '\320\226%.0s' 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30)
name=$(printf 'x\357\277\277')$long$long
# As names.c has it: what cannot be shown is told by a hash of the whole.
cp "$exercise" "$to/$name.cu"
expect "x___$(printf %060d 0 | sed 's/0/\xd0\x96/g') ~$(hash "$name")" 0 "$as_handed_out"
# The first of each kind is on the roster, and one who hands in nothing.
echo "absent,absent@example.org" >>"$dir/roster.csv"
echo "right000,right@example.org" >>"$dir/roster.csv"
expect absent 0 missing
sort -o "$dir/expected" "$dir/expected"
