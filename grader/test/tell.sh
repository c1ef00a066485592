# tell.sh: how every test script speaks: one line per test, and a count at the end. Sourced, not
# run.
# shellcheck shell=sh
# shellcheck disable=SC2034  # the scripts that source this use it
build=build${BUILD:+/$BUILD} # where make puts what it builds
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

# need NAME TOOL...: without one of these tools the whole script is skipped: it ends with status 77.
# chromium is what find_chromium (make/chromium.sh) finds.
need() {
    name=$1 missing=
    shift
    for tool; do
        if [ "$tool" = chromium ]; then
            [ -n "$(find_chromium)" ] || missing="$missing $tool"
        else
            command -v "$tool" >/dev/null 2>&1 || missing="$missing $tool"
        fi
    done
    [ -n "$missing" ] || return 0
    tell skip "$name" "there is no$missing (sh setup.sh --dev)"
    finish
    exit 77
}

# sample WHAT [PART]: with SAMPLE="96 WORD", one in 96 of the lines of stdin, at least one, drawn by
# WORD and WHAT; with PART 4 one in 96 / 4; all of them without SAMPLE.
sample() {
    [ -n "${SAMPLE:-}" ] || {
        cat
        return
    }
    LC_ALL=C sort -R --random-source=/dev/fd/3 3<<SALT | awk -v n="${SAMPLE%% *}" -v part="${2:-1}" \
        'BEGIN { n = n > part ? int(n / part) : 1 } NR % n == 1 % n'
$(echo "$SAMPLE $1" | sha256sum)
SALT
}
# drawn WHAT [PART]: is WHAT, by itself, drawn, as a line of such a sample? Always without SAMPLE.
drawn() {
    [ -z "${SAMPLE:-}" ] || awk -v n="${SAMPLE%% *}" -v part="${2:-1}" \
        -v hash="$(printf %d "0x$(echo "$SAMPLE $1" | sha256sum | cut -c 1-7)")" \
        'BEGIN { n = n > part ? int(n / part) : 1; exit hash % n > 0 }'
}

# copy_course FOLDER: the files of the course as they are here, committed or not, with their times.
copy_course() {
    git ls-files -z --cached --others --exclude-standard | xargs -0 cp -Pp --parents -t "$1" 2>/dev/null
}

# survivors: how many processes run a graded program without the check that graded it.
survivors() {
    find /proc -maxdepth 2 -name exe -lname '*memfd:program*' 2>/dev/null | while read -r link; do
        pid=${link%/exe} pid=${pid#/proc/}
        while [ "${pid:-0}" -gt 1 ]; do
            case $(cat "/proc/$pid/comm" 2>/dev/null) in check) continue 2 ;; esac
            pid=$(awk '/^PPid:/ { print $2 }' "/proc/$pid/status" 2>/dev/null)
        done
        echo "$link"
    done | wc -l
}

# no_survivor: waits until there is none; others may grade at the same time, and end one just now.
no_survivor() {
    for _ in 1 2 3 4 5 6 7 8; do
        sleep 1
        [ "$(survivors)" != 0 ] || return 0
    done
    find /proc -maxdepth 2 -name exe -lname '*memfd:program*' 2>/dev/null
    return 1
}
