#!/bin/sh
# editor.sh: what `make editor` does: writes build/compile_commands.json, from which clangd, in any
# editor, knows how each file is compiled; .clangd names it. A .cu is taken for CUDA, with the CPU
# device's headers in the place of CUDA's, which need not be installed (grader/cpu/editor/). A file
# that is not in the list is taken like the one beside it.
# usage: editor.sh [stale]     stale: only if there is none for this folder, or one of an older course
list=build/compile_commands.json here=$(pwd -P)
if [ "${1:-}" = stale ] && [ -n "$(find "$list" -newer grader/make/editor.sh 2>/dev/null)" ]; then
    case $(head -n 2 "$list") in *"\"directory\": \"$here\""*) exit 0 ;; esac
fi
# -DCUDEV_WORDS: the rewriter does not run here, so its words in a source mean nothing.
cuda="clang++ -xcuda -std=c++17 -nocudainc -nocudalib --cuda-path=none --cuda-host-only --cuda-gpu-arch=sm_80 -Wall \
-Wno-unknown-cuda-version -Wno-unknown-pragmas -Wno-sign-compare -Wno-cuda-compat \
-DCUDEV_WORDS -Igrader/cpu/editor -Igrader/cpu/include -Ilessons"

# Lines "FILE COMMAND"
commands() {
    for file in exercises/*/*.cu solutions/*/*.cu solutions/*/steps/*.cu grader/[0-9]*/right/*.cu \
        grader/[0-9]*/wrong/*.cu lessons/*.h lessons/*/*.h; do
        lesson=${file#*/} lesson=${lesson%%/*}
        [ -e "$file" ] || continue
        [ -d "lessons/$lesson" ] || lesson=
        echo "$file $cuda ${lesson:+-Ilessons/$lesson }-include cuda_runtime.h -c $file"
    done
    # The grader's own, as make compiles them, each once.
    env -u MAKEFLAGS -u MAKELEVEL make -nB tools units 2>/dev/null |
        awk '/ -c grader\/[^ ]*\.c -o / { file = $(NF - 2); if (!seen[file]++) print file, $0 }'
}

mkdir -p build || exit 1
commands | awk -v here="$here" '
    function text(s) { gsub(/[\\"]/, "\\\\&", s); return "\"" s "\"" }
    BEGIN { printf "[" }
    {
        command = $0
        sub(/^[^ ]* /, "", command)
        printf "%s\n{\"directory\": %s, \"file\": %s, \"command\": %s}", (NR > 1 ? "," : ""), text(here),
            text($1), text(command)
    }
    END { print "\n]" }' >"$list.new.$$" && mv "$list.new.$$" "$list"
