# chromium.sh: the browser that prints and measures the decks and the book. Sourced, not run.
# shellcheck shell=sh

# The browser's command, or nothing. CHROMIUM in the environment replaces the usual commands;
# CHROMIUM=none stands for no browser.
find_chromium() {
    for command in ${CHROMIUM:-chromium chromium-browser google-chrome}; do
        command -v "$command" && return
    done
}

# chromium_run ARGUMENT...: without a window, in a profile of its own that is gone afterwards. Its
# messages about its surroundings are dropped. Chromium has no sandbox for root; the pages are our
# own.
chromium_run() (
    profile=$(mktemp -d) || exit 2
    trap 'rm -rf "$profile"' EXIT
    [ "$(id -u)" != 0 ] || set -- --no-sandbox "$@"
    HOME=$profile timeout 120 "$(find_chromium)" --headless --disable-gpu --disable-dev-shm-usage --hide-scrollbars \
        --user-data-dir="$profile" "$@" 2>"$profile/said" </dev/null && exit 0
    cat "$profile/said" >&2
    exit 1
)

# chromium_print URL OUT.pdf [OPTION]: the page as PDF, without a line of the browser's above it
chromium_print() {
    chromium_run --no-pdf-header-footer --print-to-pdf="$2" ${3:+"$3"} "$1" >/dev/null
}

# file_url FILE: its address, with % and spaces escaped.
file_url() {
    printf 'file://%s' "$(realpath "$1")" | sed 's/%/%25/g; s/ /%20/g; s/#/%23/g; s/?/%3F/g'
}
