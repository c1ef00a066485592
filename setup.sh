#!/bin/sh
# setup.sh: installs what grading needs and this machine lacks. Safe to run twice.
#
#   sh setup.sh          what grading needs: at most 110 MB to fetch
#   sh setup.sh --class  also what grading a class needs (make class): 15 MB more
#   sh setup.sh --dev    also what the project's own tests need (make test): 300 MB more
#   sh setup.sh --torch  also an environment of its own with PyTorch (make torch): build/torch/env.
#                        pip fetches it from the index that it is configured for. From PyPI, on
#                        x86-64, that is the wheel for GPUs, which runs without one as well: 3.0 GB,
#                        5.3 GB on disk. PyTorch's own page of how to install it has, for "CPU", an
#                        index of far smaller wheels: PIP_INDEX_URL=that sh setup.sh --torch
#
# Debian 12+ and Ubuntu 22.04+, WSL2 included: with apt-get, as root or through sudo, asking
# nothing. Elsewhere it names the packages and the way through a container. It removes nothing. The
# CUDA Toolkit is never installed: grading does not need it.

# What is needed, one thing a line:
#   probe | package on Debian and Ubuntu | Fedora | Arch | Alpine | what for
# The probe is a command, a header (*.h), a library (*.a) or a file (/...). "-": comes with the
# rest.
grading() {
    cat <<'TABLE'
gcc          | gcc             | gcc              | gcc             | gcc           | builds the grader
g++          | g++             | gcc-c++          | gcc             | g++           | compiles the kernels
make         | make            | make             | make            | make          | runs everything
readelf      | binutils        | binutils         | binutils        | binutils      | looks into what was compiled
stdio.h      | libc6-dev       | glibc-devel      | glibc           | musl-dev      | the headers of C
libc.a       | libc6-dev       | glibc-static     | glibc           | musl-dev      | links a kernel's program
libstdc++.a  | g++             | libstdc++-static | gcc             | g++           | links a kernel's program
check.h      | check           | check-devel      | check           | check-dev     | runs each graded item apart
jansson.h    | libjansson-dev  | jansson-devel    | jansson         | jansson-dev   | the result as JSON
sha2.h       | libmd-dev       | libmd-devel      | libmd           | libmd-dev     | fingerprints
bwrap        | bubblewrap      | bubblewrap       | bubblewrap      | bubblewrap    | the sandbox kernels run in
flock        | util-linux      | util-linux       | util-linux      | util-linux    | two grades at once
gdb          | gdb             | gdb              | gdb             | gdb           | make debug
inotifywait  | inotify-tools   | inotify-tools    | inotify-tools   | inotify-tools | make watch
patch        | patch           | patch            | patch           | patch         | make wrong
git          | git             | git              | git             | git           | make update, make reset
/etc/ssl/certs/ca-certificates.crt | ca-certificates | ca-certificates | ca-certificates | ca-certificates | git over https
TABLE
}

classes() {
    cat <<'TABLE'
archive.h    | libarchive-dev  | libarchive-devel | libarchive      | libarchive-dev | reads zip and tar
unicode/unorm2.h | libicu-dev   | libicu-devel     | icu             | icu-dev       | names in any script and charset
yaml.h       | libyaml-dev     | libyaml-devel    | libyaml         | yaml-dev      | Gradescope's list of who handed in
csv.h        | libcsv-dev      | libcsv-devel     | libcsv          | libcsv-dev    | rosters, the gradebook
/usr/include/libxml2/libxml/xmlwriter.h | libxml2-dev | libxml2-devel | libxml2 | libxml2-dev | JUnit's XML
sim_c        | similarity-tester | -              | -               | -             | which submissions look alike
zip          | zip             | zip              | zip             | zip           | make gradescope
TABLE
}

development() {
    cat <<'TABLE'
xmllint      | libxml2-utils   | libxml2          | libxml2         | libxml2-utils | checks the class's exports
/usr/bin/jsonschema | python3-jsonschema | python3-jsonschema | python-jsonschema | py3-jsonschema | checks the class's exports
prove        | perl            | perl-Test-Harness | perl           | perl-utils    | checks the class's exports, reads tasks.json
slurmctld    | slurm-wlm       | slurm-slurmctld  | slurm-llnl      | slurm         | a class on Slurm
munged       | munge           | munge            | munge           | munge         | a class on Slurm
shellcheck   | shellcheck      | ShellCheck       | shellcheck      | shellcheck    | checks the scripts
clang        | clang           | clang            | clang           | clang         | make fuzz
/usr/share/doc/libclang-rt-dev | libclang-rt-dev | compiler-rt | compiler-rt | compiler-rt | make fuzz
clang-format | clang-format    | clang-tools-extra | clang          | clang-extra-tools | make format
clangd       | clangd          | clang-tools-extra | clang          | clang-extra-tools | completes and checks .cu files in an editor
zsh          | zsh             | zsh              | zsh             | zsh           | tests its completion of make's words
qemu-aarch64 | qemu-user       | qemu-user        | qemu-user       | qemu-aarch64  | make test-aarch64
aarch64-linux-gnu-g++ | g++-aarch64-linux-gnu | gcc-c++-aarch64-linux-gnu | aarch64-linux-gnu-gcc | - | make test-aarch64
/usr/aarch64-linux-gnu/lib/libc.a | libc6-dev-arm64-cross | - | aarch64-linux-gnu-glibc | - | make test-aarch64
pandoc       | pandoc          | pandoc           | pandoc-cli      | pandoc-cli    | make slides, make book
chromium     | chromium        | chromium         | chromium        | chromium      | prints and measures the slides and the book, tests the tile sweep
pdfinfo      | poppler-utils   | poppler-utils    | poppler         | poppler-utils | counts the slides' pages
/usr/share/doc/fonts-liberation | fonts-liberation | - | -      | -             | the slides' letters
/usr/share/doc/fonts-dejavu-core | fonts-dejavu-core | - | -    | -             | the slides' code
/usr/share/doc/fonts-stix | fonts-stix  | -                | -               | -             | the slides' formulas
gnuplot      | gnuplot-nox     | gnuplot          | gnuplot         | gnuplot       | make plots
debootstrap  | debootstrap     | debootstrap      | debootstrap     | debootstrap   | grader/test/fresh.sh
/usr/share/keyrings/debian-archive-keyring.gpg | debian-archive-keyring | debian-keyring | debian-archive-keyring | - | grader/test/fresh.sh
TABLE
}

# Beside these pip installs PyTorch, into build/torch/env.
environments() {
    cat <<'TABLE'
python3      | python3         | python3          | python          | python3       | make torch
/usr/share/doc/python3-venv | python3-venv | -    | -               | -             | an environment of its own for PyTorch
/usr/share/doc/python3-dev | python3-dev | python3-devel | -         | python3-dev   | torch.compile compiles against its headers
TABLE
}

say() {
    printf '%s\n' "$*"
}

# present PROBE: is it there?
present() {
    case $1 in
    /*) [ -e "$1" ] ;;
    *.h)
        if command -v gcc >/dev/null 2>&1; then
            # shellcheck disable=SC2086  # CPPFLAGS is a list of flags
            printf '#include <%s>\n' "$1" | gcc ${CPPFLAGS:-} -E -xc - >/dev/null 2>&1
        else
            [ -e "/usr/include/$1" ]
        fi
        ;;
    *.a)
        # gcc answers with the bare name when it finds none.
        case $(g++ -print-file-name="$1" 2>/dev/null) in
        /*) ;;
        *) false ;;
        esac
        ;;
    *) command -v "$1" >/dev/null 2>&1 ;;
    esac
}

# look COLUMN: sets `missing` to the packages (named as in that column) whose probe fails, and
# `reasons` to one line for each.
look() {
    column=$1 missing='' reasons=''
    while IFS=' |' read -r probe debian fedora arch alpine why; do
        case $column in
        debian) package=$debian ;;
        fedora) package=$fedora ;;
        arch) package=$arch ;;
        alpine) package=$alpine ;;
        esac
        case " $missing " in *" $package "*) continue ;; esac
        if [ "$package" = - ] || present "$probe"; then continue; fi
        missing="$missing $package"
        reasons="$reasons$(printf '  %-26s%s' "$package" "$why")
"
    done <<TABLE
$wanted
TABLE
    missing=${missing# }
}

container() {
    say "The course is tested on Debian and Ubuntu. A Debian in a container does as well:"
    say "  docker run -it -v \"\$PWD\":/course -w /course debian:12"
    say "  sh setup.sh && make grade LESSON=12          (inside; README.md says more)"
}

# One line about the CUDA Toolkit; nothing depends on it.
cuda() {
    if command -v nvcc >/dev/null 2>&1 || [ -x /usr/local/cuda/bin/nvcc ]; then
        say "nvcc is here: with an NVIDIA GPU, make grade LESSON=12 DEVICE=cuda runs on it."
    else
        say "nvcc is not here: kernels are graded on the CPU. Nothing is missing for that."
    fi
}

# The compiler of an old system knows too little of C++17 and of the sanitizers.
old_compiler() {
    version=$(gcc -dumpversion 2>/dev/null | cut -d. -f1)
    [ "${version:-0}" -lt 11 ] || return 1
    say "gcc ${version:-(none)} is too old: 11 or newer is needed (Debian 12, Ubuntu 22.04)." >&2
    container >&2
}

# What python3 is may be another one than the system's: it makes the environment. Nothing is
# installed into that one itself.
environment() {
    env=build/torch/env
    if [ -x $env/bin/python ] && $env/bin/python -c 'import torch' 2>/dev/null; then
        say "PyTorch is in $env: nothing to do."
        return
    fi
    say "Making $env and installing PyTorch with pip, which says how much it fetches:"
    { [ -x $env/bin/pip ] || python3 -m venv $env; } && $env/bin/pip install torch || {
        say "PyTorch could not be installed; what python3 or pip says is above. Mend that, then run again:" >&2
        say "  sh setup.sh --torch      (it goes on with what is there)" >&2
        exit 1
    }
    $env/bin/python -W ignore -c 'import torch; print("PyTorch", torch.__version__, "is in build/torch/env")' || exit 1
}

finish() {
    if old_compiler; then exit 1; fi
    [ -z "$torch" ] || environment
    cuda
    say "Next: make grade LESSON=12 (make doctor says what this machine can grade)"
    exit 0
}

# Not a Debian: names the packages. elsewhere NAME COLUMN HOW-TO-INSTALL
elsewhere() {
    look "$2"
    if [ -z "$missing" ]; then
        say "$1: everything is there, nothing to do."
        finish
    fi
    say "This is $1; setup.sh installs with apt-get only. What is missing here:" >&2
    printf '%s' "$reasons" >&2
    say "As root: $3 $missing" >&2
    container >&2
    exit 1
}

# as_root_apt ARGUMENT...: apt-get, asking nothing; what it says goes to $log.
as_root_apt() {
    $root env DEBIAN_FRONTEND=noninteractive LC_ALL=C apt-get -q -y -o DPkg::Lock::Timeout=300 "$@" \
        >>"$log" 2>&1 </dev/null
}

# progress TOTAL BEFORE: once a second, on a terminal, how many packages apt-get has fetched, beyond
# those that it had said before, and set up.
progress() {
    while sleep 1; do
        printf '\r  %d of %d packages fetched, %d set up ' $(($(grep -c '^Get:' "$log") - $2)) "$1" \
            "$(grep -c '^Setting up ' "$log")"
    done
}

# Installs the packages, in $missing, and shows how far it is.
install_all() {
    # shellcheck disable=SC2086  # missing is a list of packages
    total=$(apt-get -s -q install --no-install-recommends $missing 2>/dev/null | grep -c '^Inst ')
    say "  $total packages, with what they need themselves"
    watcher=
    before=$(grep -c '^Get:' "$log") # here: what stands in a line with & is counted too late
    if [ -t 1 ]; then
        progress "$total" "$before" &
        watcher=$!
    fi
    # shellcheck disable=SC2086
    as_root_apt install --no-install-recommends $missing
    installed=$?
    if [ -n "$watcher" ]; then
        kill "$watcher" 2>/dev/null
        printf '\r  %d of %d packages set up%20s\n' "$(grep -c '^Setting up ' "$log")" "$total" ''
    fi
    return "$installed"
}

with_apt() {
    look debian
    if [ -z "$missing" ]; then
        say "$PRETTY_NAME: everything is there, nothing to do."
        finish
    fi
    say "$PRETTY_NAME: missing and needed:"
    printf '%s' "$reasons"
    root=''
    if [ "$(id -u)" != 0 ]; then
        root=sudo
        if ! command -v sudo >/dev/null 2>&1; then
            refused="you are not root, and there is no sudo"
        elif ! sudo -n true 2>/dev/null && ! sudo -v; then
            refused="you are not root, and sudo refused"
        fi
        if [ -n "$refused" ]; then
            say "Nothing was installed: $refused." >&2
            say "Ask an administrator of this machine to run:" >&2
            say "  apt-get update && apt-get install --no-install-recommends $missing" >&2
            say "or use a container (README.md, Platforms). What works without them says:" >&2
            say "  sh grader/make/doctor.sh" >&2
            exit 1
        fi
    fi
    log=$(mktemp) || exit 1
    watcher=
    trap 'rm -f "$log"; [ -z "$watcher" ] || kill "$watcher" 2>/dev/null' EXIT
    trap 'exit 130' INT TERM HUP
    say "Installing them${root:+ with sudo}: first the list of packages, then (a minute or two)"
    # A package list that cannot be refreshed may still be good enough: the installation decides.
    as_root_apt update || :
    if ! install_all; then
        say "apt-get could not install them. It said:" >&2
        tail -n 8 "$log" | sed 's/^/  /' >&2
        if grep -q 'Failed to fetch' "$log"; then
            say "Something could not be fetched: is this machine on the network?" >&2
        fi
        if [ "$ID" = ubuntu ] && grep -q 'Unable to locate' "$log"; then
            say "On Ubuntu, first run: sudo add-apt-repository universe" >&2
        fi
        say "Mend that, then run again: sh setup.sh$options" >&2
        exit 1
    fi
    look debian
    if [ -n "$missing" ]; then
        say "Installed, but still not found; is something else first in PATH?" >&2
        printf '%s' "$reasons" >&2
        exit 1
    fi
    say "Installed."
    finish
}

wanted=$(grading) options='' refused='' torch=''
for option; do
    case $option in
    --class)
        options=' --class'
        wanted=$wanted'
'$(classes)
        ;;
    --dev)
        options=' --dev'
        wanted=$wanted'
'$(classes)'
'$(development)
        ;;
    --torch)
        options=' --torch' torch=yes
        wanted=$wanted'
'$(environments)
        ;;
    -h | --help)
        sed -n '2,/^$/s/^# \{0,1\}//p' "$0"
        exit 0
        ;;
    *)
        say "setup.sh: unknown option $option" >&2
        say "usage: sh setup.sh [--class|--dev|--torch]" >&2
        exit 2
        ;;
    esac
done

ID='' ID_LIKE='' PRETTY_NAME=$(uname -s)
# shellcheck source=/dev/null
[ ! -r /etc/os-release ] || . /etc/os-release
# Ubuntu's Chromium is a snap, which does not run everywhere: the slides take Chrome, or
# CHROMIUM=browser.
[ "$ID" != ubuntu ] || wanted=$(printf '%s\n' "$wanted" | grep -v '^chromium ')
case $(uname -s)/$(uname -r) in
Linux/*Microsoft)
    say "This is WSL 1, which lacks what the sandbox needs. In Windows: wsl --set-version $ID 2" >&2
    exit 1
    ;;
Linux/*) ;;
*)
    say "The grader needs a Linux kernel, and this is $(uname -s)." >&2
    container >&2
    exit 1
    ;;
esac
if command -v apt-get >/dev/null 2>&1; then with_apt; fi
case " $ID $ID_LIKE " in
*' fedora '* | *' rhel '*) elsewhere "$PRETTY_NAME" fedora 'dnf install' ;;
*' arch '*) elsewhere "$PRETTY_NAME" arch 'pacman -S --needed' ;;
*' alpine '*) elsewhere "$PRETTY_NAME" alpine 'apk add' ;;
*) elsewhere "$PRETTY_NAME" debian 'install what Debian calls' ;;
esac
