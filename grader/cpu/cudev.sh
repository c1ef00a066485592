#!/bin/sh
# cudev: compiles CUDA C for the CPU device, and runs it. The manual is cudev.1, beside this file.
# Installed, it is the command cudev; `make run` calls it from here.
set -u
here=$(dirname "$0")
: "${CUDEV_HOME:=@HOME@}"
case $CUDEV_HOME in
@*) # in the course's tree
    build=${CUDEV_BUILD:-build}
    rewrite=$build/cpu/rewrite library=$build/cpu/libcudev.a
    headers="$here/any/include $here/include" flags=$here/
    ;;
*)
    rewrite=$CUDEV_HOME/lib/cudev/rewrite library=$CUDEV_HOME/lib/libcudev.a
    headers=$CUDEV_HOME/include/cudev flags=$CUDEV_HOME/lib/cudev/
    ;;
esac

usage() {
    cat >&2 <<END
usage: cudev [options] FILE... [-o PROGRAM]        compile and link .cu, .cpp, .c and .o files
       cudev --run [options] FILE... [-- ARGUMENT...]   and run the program
  --watch=check      report races, stray accesses and reads of what nobody wrote, with their lines
  --error-exitcode=N  with --run --watch=check: exit with N, 1 to 125, if anything was found
  --watch=profile    print the memory traffic, line by line
  -I -D -U -l -L -O -std= -W -f -g  as g++ has them; options of nvcc that mean nothing here are passed over
END
    exit "${1:-2}"
}

fail() {
    echo "cudev: $*" >&2
    exit 1
}

# quoted TEXT: as a word of the shell
quoted() {
    printf "'%s' " "$(printf '%s' "$1" | sed "s/'/'\\\\''/g")"
}

# ---- the command line

output='' run='' watch='' on_findings='' files='' options='' places='' libraries='' arguments=''
while [ $# -gt 0 ]; do
    case $1 in
    --run) run=yes ;;
    --watch=check | --watch=profile | --watch=check,profile | --watch=profile,check) watch=${1#*=} ;;
    --error-exitcode=*)
        on_findings=${1#*=}
        case $on_findings in [1-9] | [1-9][0-9] | 1[01][0-9] | 12[0-5]) ;; *) fail "$1: a status is 1 to 125" ;; esac
        ;;
    --watch | --watch=*) fail "$1: say --watch=check, --watch=profile or --watch=check,profile" ;;
    --help | -h) usage 0 ;;
    --version) echo "cudev, the CPU device for CUDA C"; exit 0 ;;
    --)
        shift
        for word in "$@"; do arguments="$arguments$(quoted "$word")"; done
        break
        ;;
    -o | -I | -D | -U | -l | -L | -Xcompiler | -include | -isystem)
        [ $# -gt 1 ] || fail "$1 needs something behind it"
        case $1 in
        -o) output=$2 ;;
        -I | -isystem) places="$places$(quoted "$2")" ;;
        -l | -L) libraries="$libraries$(quoted "$1$2")" ;;
        -Xcompiler) options="$options$2 " ;;
        *) options="$options$(quoted "$1")$(quoted "$2")" ;;
        esac
        shift
        ;;
    -o*) output=${1#-o} ;;
    -I*) places="$places$(quoted "${1#-I}")" ;;
    -Xcompiler=*) options="$options$(quoted "${1#*=}")" ;;
    -lineinfo) ;;
    -lcuda* | -lcublas* | -lcurand* | -lcufft* | -lcusolver* | -lcusparse* | -lnvToolsExt | -lnvrtc*) ;;
    -l* | -L* | -Wl,*) libraries="$libraries$(quoted "$1")" ;;
    -gencode | -arch | -code | -ccbin | -rdc | -maxrregcount | -t | --ptxas-options | -Xptxas | -Xlinker | -Xcudafe)
        shift ;;
    -gencode=* | -arch=* | -code=* | --use_fast_math | -use_fast_math | -rdc=* | -dc | -m64 | -G | \
        --expt-* | -expt-* | --extended-lambda | -extended-lambda | --generate-* | -maxrregcount=* | \
        --threads* | -Xptxas=* | --ptxas-options=* | -cudart* | -forward-unknown-to-host-compiler) ;;
    -D* | -U* | -O* | -std=* | -W* | -f* | -g* | -w | -m* | -pthread) options="$options$(quoted "$1")" ;;
    -*) fail "the option $1 is not known; cudev --help lists those that are" ;;
    *.cu | *.cpp | *.cc | *.cxx | *.c | *.o | *.a)
        [ -r "$1" ] || fail "cannot read $1"
        files="$files$(quoted "$1")"
        ;;
    *) fail "$1: a source ends in .cu, .cpp, .cc, .cxx or .c, an object in .o or .a" ;;
    esac
    shift
done
[ -n "$files" ] || usage
case $on_findings,$run,$watch in ,* | *,yes,*check*) ;; *) fail "--error-exitcode is for --run --watch=check" ;; esac
[ -x "$rewrite" ] && [ -r "$library" ] || fail "$library is missing: make run builds it, make install-cpu installs it"
work=$(mktemp -d "${TMPDIR:-/tmp}/cudev.XXXXXX") || exit 1
trap 'rm -rf "$work"' EXIT
trap 'exit 1' INT TERM
export LC_ALL=C

# ---- a copy of the sources, rewritten, in folders as they were: $work/root/where/they/lie

# has_cuda FILE: does it contain what is not C++?
has_cuda() {
    grep -qE '__global__|__device__|__shared__|__constant__|__managed__|<<<|__noinline__|\<asm\>' "$1"
}

# Finds what the files include, and what that includes: lines "path", in user folders alone. CUDA's
# own headers, where a system has them among its own, are none of ours: "+name line file", with the
# place of the #include.
eval "set -- $places"
user_folders=''
for folder in "$@"; do
    [ -d "$folder" ] && user_folders="$user_folders$(cd "$folder" && pwd -P)
"
done
cuda_folders=$(for folder in /usr/local/include /usr/include /usr/local/cuda/include; do
    [ -e "$folder/cuda_runtime.h" ] && echo "$folder"
done)
eval "set -- $files"
for file in "$@"; do
    case $file in *.o | *.a) ;; *) readlink -f "$file" ;; esac
done | awk -v folders="$user_folders" -v ours="$headers" -v cuda="$cuda_folders" '
    function there(file, line, is) { is = (getline line < file) >= 0; close(file); return is }
    function add(file) { if (!(file in seen)) { seen[file]; queue[++last] = file } }
    function plain(path, n, part, i, k, kept, out) { # without . and ..
        n = split(path, part, "/")
        for (i = 1; i <= n; i++) {
            if (part[i] == "" || part[i] == ".") continue
            if (part[i] == "..") k--
            else kept[++k] = part[i]
        }
        for (i = 1; i <= k; i++) out = out "/" kept[i]
        return out
    }
    function look(name, quoted, from, line, i, place) {
        place = from
        sub(/[^\/]*$/, "", place)
        if (quoted && there(place name)) return add(plain(place name))
        for (i = 1; i <= folder_count; i++)
            if (folder[i] != "" && there(folder[i] "/" name)) return add(plain(folder[i] "/" name))
        for (i = 1; i <= our_count; i++) if (there(our[i] "/" name)) return
        for (i = 1; i <= cuda_count; i++)
            if (cu[i] != "" && there(cu[i] "/" name) && !(("+" name) in seen)) {
                seen["+" name]
                print "+" name "\t" line "\t" from
            }
    }
    BEGIN { folder_count = split(folders, folder, "\n"); our_count = split(ours, our, " "); cuda_count = split(cuda, cu, "\n") }
    { add($0) }
    END {
        for (i = 1; i <= last; i++) {
            print queue[i]
            number = 0
            while ((getline line < queue[i]) > 0) {
                number++
                if (match(line, /^[ \t]*#[ \t]*include[ \t]*[<"][^>"]*[>"]/)) {
                    text = substr(line, RSTART, RLENGTH)
                    quoted = text ~ /"/
                    gsub(/^[^<"]*[<"]|[>"]$/, "", text)
                    look(text, quoted, queue[i], number)
                }
            }
            close(queue[i])
        }
    }' >"$work/sources"

# shown PATH: as the user knows it
top=$(pwd -P)
shown() {
    case $1 in "$top"/*) echo "${1#"$top"/}" ;; *) echo "$1" ;; esac
}

# A header that cannot be rewritten fails only if it is really included.
mkdir -p "$work/root" "$work/cuda"
while IFS='	' read -r path line from; do
    case $path in
    +*) # for what there is no other name, the header is named
        mkdir -p "$(dirname "$work/cuda/${path#+}")"
        printf '#line %s "%s"\n#error not on the CPU device: <%s> of CUDA, use what cuda_runtime.h has\n' \
            "$line" "$(shown "$from")" "${path#+}" >"$work/cuda/${path#+}"
        continue
        ;;
    esac
    copy=$work/root$path
    mkdir -p "$(dirname "$copy")"
    case $path in
    *.cpp | *.cc | *.cxx | *.c) mode=--host ;;
    *.cu) mode=--any ;;
    *) if has_cuda "$path"; then mode=--any; else mode=--host; fi ;;
    esac
    "$rewrite" $mode "$path" "$copy" "$(shown "$path")" 2>"$work/said" && {
        cat "$work/said" >&2
        continue
    }
    case $path in
    *.cu | *.cpp | *.cc | *.cxx | *.c)
        cat "$work/said" >&2
        : >"$work/failed"
        ;;
    *) awk -v shown="$(shown "$path")" '
        index($0, shown ":") == 1 { line = substr($0, length(shown) + 2) + 0; sub(/^[^ ]* error: /, ""); print "#line " line " \"" shown "\"\n#error " $0; exit }' "$work/said" >"$copy" ;;
    esac
done <"$work/sources"
[ ! -e "$work/failed" ] || exit 1

# A program that was compiled before is taken from there, if all that it is made of is the same.
kept=
if [ -n "${CUDEV_CACHE:-}" ] && [ -n "$run" ] && mkdir -p "$CUDEV_CACHE"; then
    kept=$CUDEV_CACHE/$({
        echo "$watch $options $places $libraries $files"
        find "$work/root" "$work/cuda" -type f -exec cat {} +
        eval "cat $(quoted "$library")"
        for folder in $headers; do find "$folder" -name '*.h' -exec cat {} +; done
    } | sha256sum | cut -c 1-32)
    find "$CUDEV_CACHE" -type f -mtime +7 -delete
fi

# ---- compiling

# compile_all: the objects, as words of the shell, in $objects.
compile_all() {
    # the device's flags, less what only serves to teach
    base=$(sed 's/-Wall//; s/-Wno-[a-z-]*//g; s/-Werror=vla//; s/-include cuda_runtime.h//' \
        "${flags}cxxflags${watch:+-watched}")
    include='' mirrors='' objects='' count=0 heap=''
    for pair in malloc=malloc free=free _Znwm=new _Znam=new_array _ZdlPv=delete _ZdaPv=delete_array \
        _ZdlPvm=delete_sized _ZdaPvm=delete_array_sized; do
        heap="$heap --redefine-sym ${pair%%=*}=cudev_any_${pair#*=}"
    done
    for folder in $headers; do include="$include-I$(quoted "$folder")"; done
    eval "set -- $places"
    for folder; do
        [ ! -d "$folder" ] ||
            mirrors="$mirrors-I$(quoted "$work/root$(cd "$folder" && pwd -P)")-I$(quoted "$folder")"
    done
    eval "set -- $files"
    for file; do
        case $file in *.o | *.a)
            objects="$objects$(quoted "$file")"
            continue
            ;;
        esac
        count=$((count + 1))
        path=$(readlink -f "$file") language=c++ front='-include cudev_any.h' compiler=${CXX:-g++}
        case $file in
        *.cu) use=$base ;;
        *.c) language=c front='' compiler=${CC:-gcc} use='-O2 -g -fno-pie' ;;
        *) use='-std=c++17 -O2 -g -fno-pie -DCUDEV_HOST' ;;
        esac
        eval "$compiler $use $include -Wno-unknown-pragmas -Wno-psabi $front -I$(quoted "$work/cuda") \
            $mirrors -iquote $(quoted "$(dirname "$path")") $options -x $language \
            -c $(quoted "$work/root$path") -o $(quoted "$work/$count.o")" || exit 1
        # what a kernel allocates comes from a heap of the device
        # shellcheck disable=SC2086  # words
        [ $language != c++ ] || [ -z "$front" ] || "${OBJCOPY:-objcopy}" $heap "$work/$count.o" || exit 1
        objects="$objects$(quoted "$work/$count.o")"
    done
}

link_all() { # link_all PROGRAM
    eval "${CXX:-g++} -no-pie -Wl,-u,cudev_any_shares,-u,cudev_any_found,-u,cudev_any_array,-u,cudev_any_assert,-u,cudaProfilerStart \
        -Wl,-u,cudev_write_profile $options $objects $(quoted "$library") $libraries -lpthread -lm \
        -o $(quoted "$1")" 2>"$work/said" && return
    grep -o 'undefined reference to .*' "$work/said" | sort -u | sed 's/^/cudev: /' >&2
    grep -v 'undefined reference\|in function\|ld returned' "$work/said" >&2
    ! grep -q "undefined reference to .omp_" "$work/said" || fail "these are OpenMP's: add -fopenmp"
    ! grep -q "multiple definition of" "$work/said" ||
        fail "the program does not link: these stand in two of the files; leave one out that another one includes"
    fail "the program does not link: name the files that define these, or a library (-l)"
}

program=${output:-${kept:-a.out}}
if [ -n "$run" ] && [ -z "$output$kept" ]; then program=$work/program; fi
if [ -n "$output" ] || [ -z "$kept" ] || [ ! -x "$kept" ]; then
    compile_all
    link_all "$work/linked"
    mv "$work/linked" "$program" || exit 1
fi
[ -n "$run" ] || exit 0

# ---- running

case $program in /*) ;; *) program=$top/$program ;; esac
eval "set -- $arguments"
[ -z "$watch" ] || export CUDEV_WATCH="$watch" CUDEV_PROFILE=1
[ -z "$on_findings" ] || export CUDEV_ERROR_EXIT="$on_findings"
# a program of one's own may take its time
export CUDEV_TIMEOUT="${CUDEV_TIMEOUT:-300}"
if [ -n "${CUDEV_IN:-}" ]; then cd "$CUDEV_IN" || exit 1; fi
"$program" "$@"
