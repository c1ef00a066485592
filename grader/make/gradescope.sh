#!/bin/sh
# gradescope.sh: what `make gradescope LESSON=17 [SECRET=file] [OUT=autograder.zip]` does: packs an
# autograder for Gradescope: the student edition of the course (handout.sh), two scripts, and the
# secret, for which the zip is its owner's only. usage: gradescope.sh LESSON
command -v zip >/dev/null || {
    echo "zip is not installed. Run: sh setup.sh --class" >&2
    exit 2
}
out=${OUT:-build/gradescope_${1%%_*}.zip}
case $out in /*) ;; *) out=$PWD/$out ;; esac
if [ -n "$SECRET" ] && [ ! -f "$SECRET" ]; then
    echo "SECRET=$SECRET does not exist." >&2
    exit 2
fi
# One with a secret is not replaced by one without, of the same name, whose data anybody can draw.
holds_secret() { [ -f "$out" ] && zip -sf "$out" 2>/dev/null | grep -qx ' *secret'; }
if [ -z "$SECRET" ] && holds_secret; then
    echo "$out holds a secret, and there is no SECRET= now. Name it again, or remove that file first." >&2
    exit 2
fi
work=$(mktemp -d) || exit 2
trap 'rm -rf "$work"' EXIT
OUT=$work/course sh grader/make/handout.sh >/dev/null || exit 2
cp grader/class/gradescope/setup.sh grader/class/gradescope/run_autograder "$work/"
chmod 755 "$work/setup.sh" "$work/run_autograder"
echo "$1" >"$work/lesson"
[ -z "$SECRET" ] || cp "$SECRET" "$work/secret"
rm -f "$out"
umask 077
mkdir -p "$(dirname "$out")" || exit 2
(cd "$work" && zip -q -r "$out" .) || exit 2
[ -n "$SECRET" ] || echo "It holds no secret: each submission gets data of its own." >&2
echo "$out: upload it as the assignment's autograder (lessons/INSTRUCTORS.md)."
