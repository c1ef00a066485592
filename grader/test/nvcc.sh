#!/bin/sh
# nvcc.sh: a lesson's .cu files compile for sm_80 and sm_90a without a warning; those that include
#          hopper.h for sm_90a alone. SAMPLE="96 WORD": in one lesson of three, drawn by WORD; in
#          the others the solution and the stub, little optimised, in one program, for sm_80 alone:
#          none of their lines asks which it is.
# usage: nvcc.sh plan LESSON            prints the jobs that are left, a command a line
#        nvcc.sh one LESSON FILE KEY    compiles one file
#        nvcc.sh wrong|other|little LESSON    the wrong kernels; what is none and no solution; or
#                                       solution and stub, for one architecture: of
#                                       build/test/LESSON/nvcc.wrong and so on, lines of FILE KEY:
#                                       all in one program, since most of the time goes to CUDA's
#                                       headers; one after another if that does not compile
#        nvcc.sh instructions           all functions of ptx.h and hopper.h; a kernel that calls
#                                       those of tile.h and flash_tile.h
#        nvcc.sh bench LESSON           its bench, which runs on a GPU only
#        nvcc.sh every LESSON           its solution, for every architecture from sm_80 on that this nvcc
#                                       knows (for sm_90a alone, if it includes hopper.h), without a
#                                       warning; no thread spills more than the lesson's text says
#                                       between <!-- spills --> and <!-- /spills -->: "sm_86 100"
. grader/test/tell.sh
. grader/test/ledger.sh
. grader/make/file.sh
nvcc=$(command -v nvcc || echo /usr/local/cuda/bin/nvcc)
mode=$1 lesson=${2:-}
if [ ! -x "$nvcc" ]; then
    [ "$mode" = plan ] || tell skip "nvcc" "is not installed: the kernels were not compiled for a GPU"
    exit 0
fi
# Where speed does not count: newer ones know how to hurry, and are three to ten times as quick so.
hurried="-Xcicc -O0 -Xptxas -O0"
! "$nvcc" --help | grep -q -e '--Ofast-compile' || hurried=-Ofc=max

# compile LESSON FILE OBJECT REAL FLAG...: REAL is compute_ if PTX is enough, sm_ if not
compile() {
    include=lessons/$1 input=$2 object=$3 real=$4
    shift 4
    hopper='' sm_80="arch=compute_80,code=${real}80" sm_90a="arch=compute_90a,code=${real}90a"
    ! grep -q '"hopper\.h"' "$input" || hopper=yes
    [ -n "$hopper" ] || set -- "$@" -gencode "$sm_80"
    [ -z "$hopper" ] && [ "$mode" = little ] || set -- "$@" -gencode "$sm_90a"
    "$nvcc" "$@" -std=c++17 -Werror all-warnings \
        -Ilessons "-I$include" "$input" -o "$object" 2>&1
    code=$?
    rm -f "$object"
    return $code
}

# one LESSON FILE KEY. Speed is for the solutions; of the others only what the compiler says of the
# device code matters. A wrong kernel is an edit of one of these: as far as PTX, which is what the
# compiler proper makes.
one() {
    object=build/test/nvcc/$3.o
    # shellcheck disable=SC2086  # words
    if said=$(case $2 in
        solutions/*/steps/*) compile "$1" "$2" "$object" sm_ -fatbin $hurried ;;
        solutions/*) compile "$1" "$2" "$object" sm_ -c ;;
        */wrong/*) compile "$1" "$2" "$object" compute_ -fatbin $hurried ;;
        *) compile "$1" "$2" "$object" sm_ -fatbin $hurried ;;
        esac); then
        ledger_add nvcc "$3"
        tell ok "nvcc $2"
    else
        tell FAIL "nvcc $2" "$said"
    fi
}

# together LESSON: the files of stdin as one program; each in a namespace of its own, with
# launchers and macros of its own.
together() {
    files=$(cat) function=${1#*_}
    launchers=$(sed -n "/^static/d; s/^[a-z][^(]* \\(${function}[a-z0-9_]*\\)(.*/\\1/p" "lessons/$1/$function.h")
    # shellcheck disable=SC2086  # one word a file
    cat $files | grep -h '^ *# *include' | sort -u
    number=0
    for file in $files; do
        number=$((number + 1))
        for launcher in $launchers; do echo "#define $launcher ${launcher}_$number"; done
        printf 'namespace number_%d {\n#include "%s"\n}\n' $number "$(pwd)/$file"
        for launcher in $launchers; do echo "#undef $launcher"; done
        sed -n 's/^ *# *define  *\([A-Za-z_0-9]*\).*/#undef \1/p' "$file" | sort -u
    done
}

mkdir -p build/test/nvcc
case $mode in
plan)
    has_kernel "$lesson" || exit 0
    out=build/test/$lesson
    headers=$({ "$nvcc" --version | tail -n 1 && cat lessons/*.h "lessons/$lesson"/*.h; } | sha256sum | cut -c 1-12)
    solution="^solutions/$lesson/[^/]* " whole=yes others=other
    drawn "$lesson nvcc" 32 || solution='^$' whole='' others=little headers=little-$headers
    set -- "solutions/$lesson"/*.cu "exercises/$lesson"/*.cu
    # shellcheck disable=SC2046  # one word a file
    [ -z "$whole" ] || set -- "$@" "solutions/$lesson"/steps/*.cu "grader/$lesson"/right/*.cu $(cat "$out/wrong")
    for file; do
        [ ! -e "$file" ] || echo "$file" # no steps, say
    done | xargs sha256sum | awk -v headers="$headers" '{ print $2, headers "-" substr($1, 1, 24) }' |
        ledger_lacks nvcc >"$out/nvcc.all"
    grep "$solution" "$out/nvcc.all" | sed "s|^|nvcc.sh one $lesson |"
    grep '/wrong/' "$out/nvcc.all" >"$out/nvcc.wrong" && echo "nvcc.sh wrong $lesson"
    grep -v -e '/wrong/' -e "$solution" "$out/nvcc.all" >"$out/nvcc.$others" && echo "nvcc.sh $others $lesson"
    [ -z "$whole" ] || [ ! -e "grader/$lesson/bench.c" ] || make -sq "$build/grader/$lesson/bench" 2>/dev/null ||
        echo "nvcc.sh bench $lesson"
    ;;
one) one "$lesson" "$3" "$4" ;;
wrong | other | little)
    list=build/test/$lesson/nvcc.$mode
    source=build/test/nvcc/$lesson-$mode.cu
    real=compute_
    [ "$mode" = wrong ] || real=sm_
    cut -d' ' -f1 "$list" | together "$lesson" >"$source"
    # shellcheck disable=SC2086  # words
    if compile "$lesson" "$source" "${source%.cu}.o" $real -fatbin $hurried >"$list.said"; then
        while read -r _ key; do ledger_add nvcc "$key"; done <"$list"
        tell ok "nvcc $lesson: $(wc -l <"$list") kernels ($mode) in one program"
    else
        while read -r file key; do one "$lesson" "$file" "$key"; done <"$list"
    fi
    ;;
instructions)
    while read -r lesson file; do
        key=$({ "$nvcc" --version | tail -n 1 && cat lessons/*.h "$file"; } | sha256sum | cut -c 1-36)
        if ledger_has nvcc "$key"; then tell ok "nvcc $file, as in an earlier run"; else one "$lesson" "$file" "$key"; fi
    done <<'TEXT'
- grader/cpu/test/hardware/instructions.cu
- grader/cpu/test/hardware/hopper.cu
17_gqa grader/test/exploits/control_taught_stages.cu
TEXT
    ;;
every)
    has_kernel "$lesson" || exit 0
    solution=$(solution "$lesson")
    said=build/test/nvcc/$lesson.said
    architectures=$("$nvcc" --list-gpu-arch | sed -n 's/^compute_//p' | awk '$1 >= 80; $1 == 90 { print "90a" }')
    ! grep -q '"hopper\.h"' "$solution" || architectures=90a
    for architecture in $architectures; do
        if ! "$nvcc" -std=c++17 -Werror all-warnings -Xptxas -v -cubin "-arch=sm_$architecture" -Ilessons \
            "-Ilessons/$lesson" "$solution" -o "$said.cubin" >"$said" 2>&1; then
            tell FAIL "nvcc $solution for sm_$architecture" "$(grep -v '^ptxas info' "$said")"
            continue
        fi
        most=$(sed -n 's/.* \([0-9]*\) bytes spill stores, \([0-9]*\) bytes spill loads$/\1 \2/p' "$said" | tr ' ' '\n' | sort -n | tail -n 1)
        if [ -z "$most" ]; then
            tell FAIL "nvcc $solution for sm_$architecture" "ptxas does not say how much its threads spill"
            continue
        fi
        stated=$(sed -n '/^<!-- spills -->/,/^<!-- \/spills -->/p' "lessons/$lesson/README.md" | tr '\n' ' ' |
            sed -n "s/.*\\bsm_$architecture \\([0-9][0-9]*\\).*/\\1/p")
        if [ "$most" -le "${stated:-0}" ]; then
            tell ok "nvcc $solution for sm_$architecture: $most bytes spilled"
        else
            tell FAIL "nvcc $solution for sm_$architecture" "a thread spills $most bytes, and lessons/$lesson/README.md says ${stated:-0}"
        fi
    done
    rm -f "$said.cubin"
    ;;
bench)
    # One at a time: two makes must not build the same file.
    expect "$lesson bench compiles" flock build/.lock make -s --no-print-directory "$build/grader/$lesson/bench"
    ;;
esac
[ "$failed" = 0 ]
