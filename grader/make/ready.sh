#!/bin/sh
# ready.sh: can this machine build the grader? One clear sentence if not, and one before it is built
# the first time. usage: ready.sh [any]; any: only the CPU device, for make run and make install-cpu
for tool in gcc g++ ar nm readelf flock; do
    command -v "$tool" >/dev/null 2>&1 || {
        echo "$tool is not installed. Run: sh setup.sh" >&2
        exit 2
    }
done
# shellcheck disable=SC2086  # words
[ "${1:-}" = any ] || printf '#include <check.h>\n#include <jansson.h>\n#include <sha2.h>\n' |
    gcc ${CPPFLAGS:-} -E -xc - >/dev/null 2>&1 || {
    echo "A library of the grader (check, jansson or libmd) is missing. Run: sh setup.sh" >&2
    exit 2
}
mkdir -p build 2>/dev/null && [ -w build ] || {
    echo "The folder build/ cannot be written here. Clone the course to a folder of your own." >&2
    exit 2
}
library=libgrader.a what="the grader (once, about 20 s)"
[ "${1:-}" != any ] || library=cpu/libcudev.a what="the CPU device (once, about 10 s)"
[ -e "build${BUILD:+/$BUILD}/$library" ] || echo "Building $what" >&2
