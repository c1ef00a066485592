#!/bin/sh
# ready.sh: can this machine build the grader? One clear sentence if not, and one before it is built
# the first time. usage: ready.sh
for tool in gcc g++ ar nm readelf flock; do
    command -v "$tool" >/dev/null 2>&1 || {
        echo "$tool is not installed. Run: sh setup.sh" >&2
        exit 2
    }
done
# shellcheck disable=SC2086  # words
printf '#include <check.h>\n#include <jansson.h>\n#include <sha2.h>\n' |
    gcc ${CPPFLAGS:-} -E -xc - >/dev/null 2>&1 || {
    echo "A library of the grader (check, jansson or libmd) is missing. Run: sh setup.sh" >&2
    exit 2
}
mkdir -p build 2>/dev/null && [ -w build ] || {
    echo "The folder build/ cannot be written here. Clone the course to a folder of your own." >&2
    exit 2
}
[ -e "build${BUILD:+/$BUILD}/libgrader.a" ] || echo "Building the grader (once, about 20 s)" >&2
