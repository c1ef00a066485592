#!/bin/sh
# compile.sh: makes two programs of the submission: out/program, and out/watched, in which every
# memory access is reported to the CPU device. It runs behind the wall, in the folder that scratch.c
# has filled, and leaves in out/ what inspect.h reads.
# usage: compile.sh FILE [ARCH]      ARCH: out/program is nvcc's, for this GPU
# It exits with 0 or with one of the statuses of build.c, which are in its environment under these
# names. CONTROL, in its environment too, is the name of a contract: instead of FILE the smallest
# file is compiled that defines its functions. A failure is then no submission's fault.
file=$1 arch=$2
export LC_ALL=C # what g++ says is read below
export SOURCE_DATE_EPOCH=0 # __DATE__ and __TIME__ are those of each grade
# Without it much fails below that would look like the submission's doing.
[ -w /dev/null ] || {
    echo "/dev/null cannot be written"
    exit "$NO_OBJECTS"
} >&2
ulimit -f 131072 # 64 MB a file
# names ARGUMENT...: nm with the compiler's own plugin alone. Else it loads those of all compilers
# here, and LLVM's takes ten times as long as the rest.
plugin=$(g++ -print-file-name=liblto_plugin.so 2>/dev/null)
[ -e "$plugin" ] || plugin=
names() {
    nm ${plugin:+--plugin "$plugin"} -P "$@"
}
if [ -n "${CONTROL:-}" ]; then
    file=out/control.cu
    names -u lib/call-cpu.o | awk -v f="$CONTROL" '
        $1 == f || index($1, f "_") == 1 { print "extern \"C\" int " $1 "() { return 0; }" }' >$file
fi
include='-Iinclude -Iinclude/cpu' calls=
# Messages show the names under which the student knows the headers, from the course's folder on.
names_shown=$(cat lib/names) here=-ffile-prefix-map=$PWD=.
# Calls through pointers arrive in run/calls.S, which knows where functions begin. A jump through a
# table would be one into a function.
[ "$(uname -m)" != x86_64 ] ||
    calls='-fcf-protection=none -mindirect-branch=thunk-extern -fpatchable-function-entry=1 -fno-jump-tables'

# compiler ARGUMENT...: g++. A failure means that the source is wrong (4: it took too much time or
# memory), or that g++ could not be started at all; then it has no times to write.
compiler() {
    rm -f out/times
    g++ -time=out/times "$@"
    status=$?
    [ "$status" != 0 ] || return 0
    [ -s out/times ] || [ "$status" = 4 ] || exit "$NOT_STARTED"
    return 1
}

# rename OBJECT SYMBOLS: C's functions that follow pointers or files become the runner's
# (run/gate.c), CUDA's go through its gates, and the submission's variables are its own, whatever
# they are called.
rename() {
    sed 's/.*/& gate_&/' lib/gated lib/gated-cuda >"$2.renamed" &&
        awk 'BEGIN { print "none" } $2 ~ /^[BDGRS]$/ { print $1 }' "$2" >"$2.variables" &&
        objcopy --redefine-syms="$2.renamed" --localize-symbols="$2.variables" "$1"
}

# refuse: the compiler refuses the file, and out/said holds its words. Preprocessed and rewritten, a
# line has other columns than the student's: a text that has the same ones is compiled for the words
# alone, and then one for those on what stands between <<< and >>>. Faults that the compiler finds
# only in the rewritten text keep their lines, without columns.
refuse() {
    for text in words sizes; do
        # shellcheck disable=SC2046,SC2086  # the flags are words
        g++ $(sed 's/-Wall//' lib/cxxflags) -DCUDEV_WORDS -ftrack-macro-expansion=0 $include -fsyntax-only \
            out/source/$text.cpp 2>out/words && continue
        sed "s/'void _L(\([^']*\))'/'<<<\1>>>'/" out/words >&2
        exit "$NOT_COMPILED"
    done
    awk -v name="$file:" '
        /^ *[0-9]* [|]/ || /: warning: / || /: In lambda function:/ { next }
        index($0, name) == 1 {
            $0 = substr($0, length(name) + 1)
            sub(/^[0-9]+:[0-9]+:/, substr($0, 1, index($0, ":")))
            $0 = name $0
        }
        1' out/said >&2
    exit "$NOT_COMPILED"
}

# warned: what the compiler has said to a file that it takes. Where a line was rewritten its columns
# may lie behind the line's end: such a message keeps its line, without column and mark.
warned() {
    awk '
        function say() {
            if (held != "") print held
            held = ""
        }
        match($0, /^[^ :]+:[0-9]+:[0-9]+: /) {
            say()
            held = $0
            split(substr($0, 1, RLENGTH), part, ":")
            far = 0
            next
        }
        held != "" && /^ *[0-9]+ [|]/ {
            text = $0
            sub(/^ *[0-9]+ [|] ?/, "", text)
            far = part[3] + 0 > length(text)
            if (far) held = part[1] ":" part[2] ":" substr(held, length(part[1] part[2] part[3]) + 4)
            say()
            print
            next
        }
        far && /^ +[|]/ { next }
        {
            say()
            print
        }
        END { say() }' out/said >&2
}

link() { # link PROGRAM OBJECT OPTION...: what the linker says goes to PROGRAM.linker
    program=$1 object=$2
    shift 2
    # shellcheck disable=SC2046  # the flags are words
    g++ -static -no-pie -Wl,-z,relro,-z,now $(cat lib/wrapped) "$@" lib/front-cpu.o "$object" \
        lib/border-cpu.o lib/call-cpu.o lib/librun-cpu.a lib/libcpu.a -lpthread -lm -o "$program" 2>"$program.linker"
}

# Beside the source lies nothing that a file could ask for.
mkdir -p out/source
lib/rewrite "$file" out/source/unit.cpp "$file" out/unset out/source/unit.cu out/source/words.cpp out/source/sizes.cpp ||
    exit "$NOT_REWRITTEN"

# nvcc's words on a file that the CPU device runs, if they were asked for: a note on which nothing
# depends. It reads both sides of the file and makes no program. Optimising takes ten times as long,
# and the CPU device itself says what nvcc would say then.
nvcc_job=
if [ -n "${NOTE:-}" ] && command -v nvcc >/dev/null 2>&1; then
    {
        # shellcheck disable=SC3045  # dash and bash have it
        ulimit -t 20
        note=80 only=
        ! grep -q '"hopper\.h"' "$file" || note=90a
        ! nvcc --help | grep -q -e '-fdevice-syntax-only' || only=-fdevice-syntax-only
        nice nvcc -std=c++17 -gencode "arch=compute_$note,code=sm_$note" $only -Iinclude -cuda out/source/unit.cu \
            -o out/nvcc.ii >out/nvcc 2>&1
        case $? in [1-9]) ;; *) : >out/nvcc ;; esac # killed, or fine
    } 2>/dev/null &
    nvcc_job=$!
fi

# Both programs are made side by side, each from the very text that is inspected. The compiler says
# nothing of the second that it has not said of the first.
# shellcheck disable=SC2086,SC2094  # the flags are words, and one has written when the other reads
{
    watched=$(cat lib/cxxflags-watched)
    { g++ $watched $include -E -dD out/source/unit.cpp -o out/watched.ii &&
        g++ ${watched%-include*} $calls -Wpedantic -fdump-tree-tsan-lineno-uid-asmname=out/tsan \
            -fdump-lang-class=out/classes $names_shown "$here" \
            -c out/watched.ii -o out/watched.o; } || exit "$NOT_WATCHED"
    # Where accesses would be seen by nobody: FILE:LINE of the first place
    : >out/beside
    objdump -t out/watched.o >out/places &&
        awk -v beside=out/beside -v text=out/watched.ii -f lib/by_value.awk kind=class out/classes \
            kind=symbol out/places kind= out/tsan >out/by_value || exit "$NO_OBJECTS"
    rm -f out/tsan
    names out/watched.o >out/symbols-watched && rename out/watched.o out/symbols-watched || exit "$NO_OBJECTS"
    # The same as below, of the declarations that only a watched program has. -Wpedantic says more,
    # and each of that has its option's name behind it.
    if grep -q ': warning: .*[^]]$' out/said-watched; then
        sed 's/^#[du][en].*//' out/watched.ii >out/plain-watched.ii
        g++ ${watched%-include*} $calls -pedantic-errors -Wno-pedantic -fsyntax-only \
            out/plain-watched.ii || exit "$NOT_WATCHED"
    fi
    link out/watched out/watched.o -Wl,-u,cudev_write_profile || exit "$NOT_LINKED"
} 2>out/said-watched &
watched_job=$!
plain=$(cat lib/cxxflags)
# shellcheck disable=SC2086
compiler $plain $include -E -dD -MD -MF out/deps out/source/unit.cpp -o out/unit.ii 2>out/said || refuse
plain="${plain%-include*} $calls $names_shown"
# shellcheck disable=SC2086
compiler $plain "$here" -S out/unit.ii -o out/unit.s 2>out/said
status=$?
[ "$status" = 0 ] || refuse
warned
# A second declaration of C's function in a namespace would call it past the name that is watched.
# Beside redefined macros it is the one warning of g++ here that belongs to no -W option: without
# the macros, these alone become errors.
sed 's/^#[du][en].*//' out/unit.ii >out/plain.ii
# shellcheck disable=SC2086  # the flags are words
[ ! -s out/said ] || compiler $plain -pedantic-errors -Wno-pedantic -fsyntax-only out/plain.ii 2>/dev/null ||
    exit "$NOT_COMPILED"
# Is one of the warnings about a variable that has no value? Then it fails when such warnings are
# errors.
# shellcheck disable=SC2086
[ ! -s out/said ] ||
    compiler $plain -Werror=uninitialized -Werror=maybe-uninitialized -S out/unit.ii -o out/unset.s 2>/dev/null ||
    : >out/unset
# Or about a function that ends without the value which it has to return? FILE:LINE of the first.
# shellcheck disable=SC2086
if [ -s out/said ] && ! compiler $plain -Werror=return-type -S out/unit.ii -o out/unset.s 2>out/no_return.said; then
    awk '
        /^ *[0-9]* [|]/ { next }
        match($0, /:[0-9]+(:[0-9]+)?: error: /) {
            printf "%s%d", substr($0, 1, RSTART), substr($0, RSTART + 1)
            exit
        }' out/no_return.said >out/no_return
fi
g++ -c out/unit.s -o out/unit.o && names -l out/unit.o >out/symbols &&
    readelf -SW out/unit.o >out/sections && rename out/unit.o out/symbols || exit "$NO_OBJECTS"
linked=yes
[ -n "$arch" ] || link out/program out/unit.o || linked=

# alone SOURCE TEXT: the #include lines of the source alone, with the macros that C's headers ask
# for: what headers say without the submission's own macros. In the preprocessed text, a line that
# includes a header ends with a marker of the next line.
alone() {
    echo "#line 1 \"$file\""
    awk -v file="$file" '
        NR == FNR { line[FNR - 1] = $0; next }
        /^# [0-9]+ "/ {
            name = $0
            sub(/^# [0-9]+ "/, "", name)
            inside = index(name, file "\"") == 1
            if (inside && substr(name, length(file) + 2, 2) == " 2") print line[$2 - 1]
            next
        }
        inside && /^#(define|undef) (NDEBUG|NOMINMAX|_USE_MATH_DEFINES)( [0-9]*L?)?$/
        inside && /^#(define|undef) _(GNU|DEFAULT|BSD|SVID|ISOC99|ISOC11|POSIX|POSIX_C|XOPEN)_SOURCE( [0-9]*L?)?$/
        inside && /^#(define|undef) __STDC_(LIMIT_|CONSTANT_|FORMAT_|WANT_[A-Z0-9_]*)(MACROS)?( [0-9]*L?)?$/
    ' "$1" "$2"
}
alone out/source/unit.cpp out/unit.ii >out/alone.cpp
# shellcheck disable=SC2046,SC2086
{
    g++ $(cat lib/cxxflags) $include -E -dD out/alone.cpp -o out/alone.ii || : >out/alone.ii
    g++ $(cat lib/cxxflags-watched) $include -E -dD out/alone.cpp -o out/alone-watched.ii || : >out/alone-watched.ii
} 2>/dev/null
# Inspection compares the submission's symbols with these files.
# Of the words of the CPU device's headers only what it defines itself: "read" stands there, too.
names lib/libcpu.a | awk '$2 ~ /[TDBRVW]/ { print $1 }' >out/defined
symbols_of() { # symbols_of HEADER...
    cat "$@" | tr -cs 'A-Za-z0-9_' '\n' |
        awk 'NR == FNR { defined[$1]; next } $1 in defined' out/defined -
}
symbols_of include/cpu/cudev/watching.h >out/watching
symbols_of include/cpu/cudev/[!w]*.h >out/device
names lib/librun-*.a lib/call-*.o 2>/dev/null | awk '$2 ~ /[TDBRVW]/ { print $1 }' >out/runner
names -u lib/call-cpu.o | awk '{ print $1 }' >out/wanted
cp lib/gated out/gated

wait $watched_job
status=$?
if [ $status != 0 ] && [ $status != "$NOT_LINKED" ]; then
    cat out/said-watched >&2
    [ $status = "$NOT_WATCHED" ] || status=$NO_OBJECTS
    exit "$status"
fi
# Nor are those to an array without elements announced, which g++ allows.
sed -n 's/^\([^ :]*:[0-9]*\):.*zero-size array.*\[-Wpedantic\]$/\1/p' out/said-watched | head -n 1 >out/endless
# out/linker: the words of the one that failed
[ $status = 0 ] || cp out/watched.linker out/linker
[ -n "$linked" ] || cp out/program.linker out/linker
[ ! -e out/linker ] || exit "$NOT_LINKED"
if [ -z "$arch" ]; then
    [ -z "$nvcc_job" ] || wait "$nvcc_job"
    if [ -s out/nvcc ]; then
        echo "nvcc, which compiles for a GPU, refuses this file. That costs no points:"
        sed '/ detected in the compilation of /d; s/__attribute__((global))/__global__/; s/__attribute__((device))/__device__/' out/nvcc
    fi >&2
    exit 0
fi
cuda=$(dirname "$(dirname "$(readlink -f "$(command -v nvcc)")")")
# With -arch=sm_90a nvcc also preprocesses the file once without Hopper's own instructions, which
# hopper.h refuses.
case $arch in
sm_*) for_gpu="-gencode arch=compute_${arch#sm_},code=$arch" ;;
*) for_gpu=-arch=$arch ;;
esac
nvcc="nvcc -std=c++17 -O3 -lineinfo -Xcompiler -U_FORTIFY_SOURCE $for_gpu -Iinclude -c out/source/unit.cu -o out/gpu.o"
$nvcc || exit "$NOT_COMPILED"
names out/gpu.o >out/symbols-gpu && readelf -SW out/gpu.o >out/sections-gpu || exit "$NO_OBJECTS"
# nvcc's preprocessor reads the file for the host, and its #include lines alone: by nvcc's own
# command, which ends with the names of its files.
$nvcc --dryrun 2>out/commands
host=$(sed -n 's/^#[$] \(.* -E -x c++ .*\)"out\/source\/unit\.cu" -o .*/\1/p' out/commands | grep -v __CUDA_ARCH__= | head -n 1)
sed -n 's/^#[$] INCLUDES="-I\([^"]*\)".*/\1\//p' out/commands >out/toolkit
eval "$host -dD out/source/unit.cu -o out/host.ii" 2>/dev/null || exit "$NO_OBJECTS"
alone out/source/unit.cu out/host.ii >out/alone.cu
eval "$host -dD out/alone.cu -o out/alone-host.ii" 2>/dev/null || : >out/alone-host.ii
# shellcheck disable=SC2046  # the flags are words
g++ -no-pie $(cat lib/wrapped) out/gpu.o lib/call-cuda.o lib/librun-cuda.a -L"$cuda/lib64" \
    -lcudart_static -lpthread -ldl -lrt -o out/program 2>out/linker || exit "$NOT_LINKED"
