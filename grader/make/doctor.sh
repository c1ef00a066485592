#!/bin/sh
# doctor.sh: what `make doctor` does: what this machine can grade, what it cannot, and the one
# command that mends it. Works before anything is built or installed.
# Exit status: 0 if grading on the CPU works here, 1 if not.
# usage: sh grader/make/doctor.sh
build=build${BUILD:+/$BUILD}

setup='sh setup.sh'
dev='sh setup.sh --dev'
sudo='sudo '
[ "$(id -u)" != 0 ] || sudo=''
broken=''

section() {
    printf '\n%s\n' "$1"
}

# row ok|missing|weak|- NAME TEXT: a line of the table.
row() {
    case $1 in ok) colour=32 ;; missing) colour=31 ;; weak) colour=33 ;; *) colour='' ;; esac
    if [ -n "$colour" ] && [ -t 1 ] && [ -z "$NO_COLOR" ]; then
        printf '  \033[%sm%-7s\033[0m  %-21s %s\n' "$colour" "$@"
    else
        printf '  %-7s  %-21s %s\n' "$@"
    fi
}

# lacks NAME CONSEQUENCE COMMAND: something optional is not here.
lacks() {
    row missing "$1" "$2; mend: $3"
}

# fatal NAME CONSEQUENCE COMMAND: without this nothing is graded on the CPU.
fatal() {
    lacks "$@"
    broken="$broken $1"
}

have() {
    command -v "$1" >/dev/null 2>&1
}

# version COMMAND [OPTION]: the first thing like 12.2.0 that COMMAND says about itself.
version() {
    "$1" "${2:---version}" 2>/dev/null | grep -o '[0-9]\{1,\}\.[0-9.]*[0-9]' | head -n 1
}

compiler() { # compiler COMMAND WHAT-IT-COMPILES
    number=$("$1" -dumpfullversion 2>/dev/null)
    if [ -z "$number" ]; then
        fatal "$1" "$2 cannot be compiled" "$setup"
    elif [ "${number%%.*}" -lt 11 ]; then
        fatal "$1" "$number is too old, 11 is needed" "a newer system or a container (README.md)"
    else
        row ok "$1" "$number"
    fi
}

# library NAME HEADER ARCHIVE CONSEQUENCE; "-" where no archive matters
library() {
    # shellcheck disable=SC2086  # CPPFLAGS is a list of flags
    if ! printf '#include <%s>\n' "$2" | gcc ${CPPFLAGS:-} -E -xc - >/dev/null 2>&1; then
        fatal "$1" "no $2: $4" "$setup"
    elif [ "$3" != - ] && [ "$(g++ -print-file-name="$3")" = "$3" ]; then
        fatal "$1" "no $3: $4" "$setup"
    else
        if [ "$3" = - ]; then row ok "$1" "$2"; else row ok "$1" "$3"; fi
    fi
}

needed_tool() { # needed_tool NAME COMMAND...: all of them, in one line
    name=$1
    shift
    for tool; do
        have "$tool" || {
            fatal "$name" "no $tool: nothing can be built" "$setup"
            return
        }
    done
    row ok "$name" "$(version "$1")"
}

optional() { # optional COMMAND CONSEQUENCE MEND [VERSION-OPTION]
    if have "$1"; then row ok "$1" "$(version "$1" "$4")"; else lacks "$1" "$2" "$3"; fi
}

build_part() {
    section "To grade on the CPU"
    compiler gcc "the grader"
    compiler g++ "kernels"
    needed_tool make make
    needed_tool binutils ar nm readelf addr2line
    needed_tool flock flock
    if have gcc && have g++; then
        library "C library" stdio.h libc.a "programs cannot be linked"
        library "C++ library" stdio.h libstdc++.a "programs cannot be linked"
        library check check.h - "the grader cannot be built"
        library jansson jansson.h - "the grader cannot be built"
        library libmd sha2.h - "the grader cannot be built"
    fi
    if mkdir -p build 2>/dev/null && [ -w build ]; then
        row ok "build/" "can be written"
    else
        fatal "build/" "cannot be written" "clone the course into a folder of your own"
    fi
}

# ---- isolation

field() { # field NAME COLUMN: of what doctor printed
    printf '%s\n' "$facts" | awk -F '\t' -v name="$1" -v n="$2" '$1 == name { print $n }'
}

setting() { # setting NAME: the value of a kernel setting, or nothing
    cat "/proc/sys/$(echo "$1" | tr . /)" 2>/dev/null
}

# How to get bubblewrap working, from the reasons known to keep it from working.
mend_bubblewrap() {
    if ! have bwrap; then
        echo "$setup"
    elif [ "$(setting kernel.apparmor_restrict_unprivileged_userns)" = 1 ]; then
        echo "${sudo}sysctl -w kernel.apparmor_restrict_unprivileged_userns=0"
    elif [ "$(setting kernel.unprivileged_userns_clone)" = 0 ]; then
        echo "${sudo}sysctl -w kernel.unprivileged_userns_clone=1"
    elif [ "$(setting user.max_user_namespaces)" = 0 ]; then
        echo "${sudo}sysctl -w user.max_user_namespaces=10000"
    elif [ -e /.dockerenv ] || [ -e /run/.containerenv ]; then
        echo "start the container with --privileged"
    else
        echo "none known; grades use the next level"
    fi
}

isolation_part() {
    section "Isolation of the kernels that are graded (the strongest that works is used)"
    if [ -n "$broken" ]; then
        row - "not probed" "mend the above first"
        return
    fi
    if ! log=$(MAKEFLAGS='' flock build/.lock make -s "$build/doctor" 2>&1) ||
        ! facts=$("$build/doctor" 2>&1); then
        printf '%s\n' "$log" "$facts" | sed 's/^/    /'
        fatal "the probe" "does not build or run (see above)" "report it with these lines"
        return
    fi
    strongest=''
    for level in bubblewrap userid limits; do
        if [ "$(field "$level" 2)" = yes ]; then
            used=''
            [ -n "$strongest" ] || {
                strongest=$level
                used=", used"
            }
            case $level in
            bubblewrap) row ok "$level" "own namespaces, nothing of this machine in sight$used" ;;
            userid) row ok "$level" "a throw-away user id (root)$used" ;;
            limits) row ok "$level" "your own user id, resource limits$used" ;;
            esac
        elif [ "$level" = userid ] && [ "$(id -u)" != 0 ]; then
            row - "$level" "for root only"
        elif [ "$level" = limits ] && [ "$(id -u)" = 0 ]; then
            row - "$level" "not for root, whom limits do not hold"
        elif [ "$level" = bubblewrap ]; then
            row missing "$level" "$(field "$level" 3); mend: $(mend_bubblewrap)"
        else
            row missing "$level" "$(field "$level" 3)"
        fi
    done
    [ -n "$strongest" ] || fatal isolation "no level works" "report it with these lines"
    if [ "$(field landlock 2)" = yes ]; then
        row ok landlock "hides your files at the levels below bubblewrap"
    elif [ "$strongest" = bubblewrap ]; then
        row - landlock "not in this kernel; bubblewrap does not need it"
    else
        row weak landlock "not in this kernel: kernels see your files; grade only your own"
    fi
    if [ "$(field arena 2)" = yes ]; then
        row ok "sealed memory" "what a kernel leaves cannot change later"
    else
        fatal "sealed memory" "$(field arena 3)" "Linux 5.1 or newer (WSL 2, not WSL 1)"
    fi
    if [ "$(field program 2)" = yes ]; then
        row ok "program memory" "a kernel's program needs no file"
    else
        fatal "program memory" "$(field program 3)" "${sudo}sysctl -w vm.memfd_noexec=0"
    fi
}

# ---- the rest

# runs CAPABILITY: which lessons' kernels a card of this compute capability runs. The exercises that
# include hopper.h need 9.0, and say COURSE_UNSUPPORTED elsewhere.
runs() {
    case $1 in
    9.*) echo "every lesson" ;;
    [0-7].*) echo "no lesson promises to run" ;;
    *) echo "every lesson but $(grep -l '"hopper\.h"' exercises/*/*.cu | sed 's|exercises/||; s|_.*||' | paste -sd, | sed 's/,/, /g')" ;;
    esac
}
# of_h200: the lessons whose grade is of that card, since they need more than others have.
of_h200() {
    grep -l '\.card = "h200"' grader/[0-9]*/check.c | sed 's|grader/||; s|_.*||' | paste -sd, | sed 's/,/, /g'
}
card_part() {
    [ -n "$facts" ] || return
    section "Cards that the CPU device can pose as (make grade CARD=name; without it rtx3090, the strictest; h200 in lessons $(of_h200))"
    printf '%s\n' "$facts" | awk -F '\t' '$1 == "card"' | while IFS="$(printf '\t')" read -r _ id capability has; do
        row ok "$id" "$has: $(runs "$capability")"
    done
}

gpu_part() {
    section "To grade on a GPU (not needed)"
    nvcc=$(command -v nvcc || ls /usr/local/cuda/bin/nvcc 2>/dev/null)
    if [ -n "$nvcc" ]; then
        number=$(version "$nvcc")
        if [ "${number%%.*}" -gt 12 ] || { [ "${number%%.*}" = 12 ] && [ "${number#*.}" -ge 5 ]; }; then
            row ok nvcc "$number"
        elif [ "${number%%.*}" = 12 ] && [ "${number#*.}" -ge 3 ]; then
            row ok nvcc "$number; lessons 24 to 27 need 12.5 on a GPU (cudaGetDriverEntryPointByVersion)"
        else
            row weak nvcc "$number; 12.3 is needed: install a newer CUDA Toolkit"
        fi
    else
        row - nvcc "no CUDA Toolkit: kernels are graded on the CPU"
    fi
    gpu=$(nvidia-smi --query-gpu=name,driver_version,compute_cap --format=csv,noheader 2>/dev/null) ||
        gpu=''
    if [ -z "$gpu" ]; then
        row - GPU "none with an NVIDIA driver"
        return
    fi
    printf '%s\n' "$gpu" | while IFS=, read -r name driver capability; do
        capability=${capability# }
        if [ "${capability%%.*}" -ge 8 ]; then mark=ok; else mark=weak; fi
        row "$mark" GPU "$name, driver$driver, compute capability $capability (8.0 is needed): $(runs "$capability")"
    done
    [ -n "$nvcc" ] || row - DEVICE=cuda "needs the CUDA Toolkit 12.3 or newer, from NVIDIA"
}

machine_part() {
    section "This machine"
    row ok cores "$(nproc)"
    free=$(df -Pm . | awk 'NR == 2 { print $4 }')
    if [ "${free:-0}" -ge 500 ]; then
        row ok disk "$free MB free here"
    else
        row weak disk "$free MB free here; builds want 500"
    fi
    memory=$(awk '/^MemAvailable/ { print int($2 / 1024) }' /proc/meminfo)
    if [ "${memory:-0}" -ge 2000 ]; then
        row ok memory "$memory MB free"
    else
        row weak memory "$memory MB free; compiling a kernel may want 2000"
    fi
    case $(uname -r)/$PWD in
    *microsoft*/mnt/[a-z]/*)
        row weak "WSL" "this folder is on the Windows side, which is slow: clone to ~ instead"
        ;;
    esac
}

build_part
isolation_part
section "Conveniences"
optional gdb "make debug will not work" "$setup"
optional inotifywait "make watch will not work" "$setup" --help
optional git "make update and make reset will not work" "$setup"
# Not by starting it, which takes seconds.
torch=$(sed -n "s/^__version__ = '\(.*\)'/\1/p" build/torch/env/lib/python3*/site-packages/torch/version.py 2>/dev/null)
if [ -n "$torch" ]; then row ok PyTorch "$torch, for make torch"; else
    row - PyTorch "make torch needs it; sh setup.sh --torch installs it"
fi
section "The course's own tests (make test; not needed to grade)"
optional shellcheck "make test skips the scripts" "$dev"
optional clang-format "make format will not work" "$dev"
optional qemu-aarch64 "make test-aarch64 will not work" "$dev"
optional aarch64-linux-gnu-g++ "make test-aarch64 will not work" "$dev"
optional debootstrap "grader/test/fresh.sh will not work" "$dev"
card_part
gpu_part
machine_part
echo
if [ -n "$broken" ]; then
    echo "Grading on the CPU does not work here yet. First mend:$broken"
    exit 1
fi
echo "Grading on the CPU works here: make grade LESSON=12"
