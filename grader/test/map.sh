#!/bin/sh
# map.sh: the maps, grader/README.md and grader/cpu/README.md, name files and functions that exist,
# and the picture of the first is up to date. usage: map.sh
. grader/test/tell.sh
# Rows of its tables: | words | `file` | `function()` |
missing() { # missing FOLDER: of its README.md
    awk -F '|' '$3 ~ /^ `[a-z0-9_\/-]+(\.[a-z]+)?` $/ { gsub(/[` ()]/, "", $3); gsub(/[` ()]/, "", $4); print $3, $4 }' "$1/README.md" |
        while read -r file function; do
            if [ ! -f "$1/$file" ]; then
                echo "$1/$file is not there"
            elif [ -n "$function" ] && ! grep -q "\<$function(" "$1/$file"; then
                echo "$1/$file has no $function()"
            else
                echo there >&3
            fi
        done
}
mkdir -p build/test
why=$({ missing grader && missing grader/cpu; } 3>build/test/map)
if [ -z "$why" ] && [ "$(wc -l <build/test/map)" -gt 35 ]; then
    tell ok "the maps name files and functions that exist"
else
    tell FAIL "the maps name files and functions that exist" "$why"
fi
if command -v pandoc >/dev/null 2>&1; then
    expect "the map's picture is that of map.lua (sh grader/make/map.sh)" sh -c \
        'sh grader/make/map.sh build/test/map.svg && cmp build/test/map.svg grader/map.svg'
else
    tell skip "the map's picture" "pandoc is not installed (sh setup.sh --dev)"
fi
finish
