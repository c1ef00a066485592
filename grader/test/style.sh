#!/bin/sh
# style.sh: formatting, shell scripts, and what must not be in the repository.
# usage: style.sh
. grader/test/tell.sh
files() {
    git ls-files --cached --others --exclude-standard -- "$@" | while read -r f; do
        [ -f "$f" ] && echo "$f"
    done
}
# Another version formats differently.
if clang-format --version 2>/dev/null | grep -q 'version 14'; then
    expect "clang-format leaves every file as it is (make format)" sh -c "
        git ls-files --cached --others --exclude-standard -- '*.c' '*.h' '*.cu' '*.cpp' |
            grep -v '^exercises/' | xargs clang-format --dry-run -Werror"
    expect "the CPU device's bfloat16.h is its half.h with other names (grader/make/bfloat16.sh)" sh -c "
        mkdir -p '$build/test' && sh grader/make/bfloat16.sh '$build/test/bfloat16.h' && diff '$build/test/bfloat16.h' grader/cpu/include/cudev/bfloat16.h"
else
    tell skip "clang-format" "version 14 is not installed (sh setup.sh --dev)"
fi
if command -v shellcheck >/dev/null 2>&1; then
    # shellcheck disable=SC2046  # one word a file
    expect "shellcheck" shellcheck -x -e SC1091,SC2015,SC2154 $(files '*.sh') .ci/run
else
    tell skip "shellcheck" "is not installed (sh setup.sh --dev)"
fi
binaries=$(files | xargs grep -LI . | while read -r f; do [ -s "$f" ] && echo "$f"; done)
if [ -z "$binaries" ]; then tell ok "no binary files"; else tell FAIL "no binary files" "$binaries"; fi
long=$(files '*.c' '*.h' '*.cu' '*.sh' '*.awk' '*.py' | xargs wc -l |
    awk '$2 != "total" && $1 > 600 {print $2, $1}')
if [ -z "$long" ]; then tell ok "no source file over 600 lines"; else
    tell FAIL "no source file over 600 lines" "$long"
fi
# In a script only comments count, and tables with their columns apart may be wider. Tests of the
# device and exploits say in comments what they expect, a line each. A stub's lines are as long as
# its gaps have words.
# shellcheck disable=SC2016  # the $ is awk's
wide=$({
    files '*.c' '*.h' '*.cu' '*.cpp' '*.S' | grep -vE '^(exercises|grader/cpu/test|grader/test/exploits)/' |
        xargs awk 'length($0) > 100 { print FILENAME ":" FNR }'
    files '*.sh' '*.awk' '*.py' '*.lua' '*.gp' Makefile |
        xargs awk '/^ *(#|--) / && length($0) > 100 && !/[^ ]   / { print FILENAME ":" FNR }'
})
if [ -z "$wide" ]; then tell ok "no comment wider than 100 columns"; else
    tell FAIL "no comment wider than 100 columns" "$wide"
fi
finish
