#!/bin/sh
# map.sh: the map, grader/README.md, tells of files and functions that exist, and its picture is of
# today. usage: map.sh
. grader/test/tell.sh
# Rows of its tables: | words | `file` | `function()` |
missing() {
    awk -F '|' '/^\|.*\|.*`.*\|.*\|$/ { gsub(/[` ()]/, "", $3); gsub(/[` ()]/, "", $4); print $3, $4 }' grader/README.md |
        while read -r file function; do
            case $file in */*) ;; *) continue ;; esac
            if [ ! -f "grader/$file" ]; then
                echo "grader/$file is not there"
            elif [ -n "$function" ] && ! grep -q "\<$function(" "grader/$file"; then
                echo "grader/$file has no $function()"
            else
                echo there >&3
            fi
        done
}
mkdir -p build/test
why=$(missing 3>build/test/map)
if [ -z "$why" ] && [ "$(wc -l <build/test/map)" -gt 20 ]; then
    tell ok "the map names files and functions that exist"
else
    tell FAIL "the map names files and functions that exist" "$why"
fi
if command -v pandoc >/dev/null 2>&1; then
    expect "the map's picture is that of map.lua (sh grader/make/map.sh)" sh -c \
        'sh grader/make/map.sh build/test/map.svg && cmp build/test/map.svg grader/map.svg'
else
    tell skip "the map's picture" "pandoc is not installed (sh setup.sh --dev)"
fi
finish
