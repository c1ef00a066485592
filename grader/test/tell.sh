# tell.sh: how every test script speaks: one line per test, and a count at the end. Sourced, not run.
# shellcheck shell=sh
passed=0 failed=0 skipped=0

# tell ok|FAIL|skip NAME [WHY]
tell() {
    case $1 in
    ok) passed=$((passed + 1)) ;;
    skip) skipped=$((skipped + 1)) ;;
    *) failed=$((failed + 1)) ;;
    esac
    printf '%-5s %s%s\n' "$1" "$2" "${3:+: $3}"
}

# expect NAME COMMAND...: ok if the command succeeds; else what it printed.
expect() {
    name=$1
    shift
    if output=$("$@" 2>&1); then
        tell ok "$name"
    else
        tell FAIL "$name" "$(printf '%s' "$output" | tail -n 15)"
    fi
}

# finish: the last line, and the exit status.
finish() {
    echo "$passed passed, $failed failed, $skipped skipped"
    [ "$failed" = 0 ] && [ $((passed + skipped)) -gt 0 ]
}
