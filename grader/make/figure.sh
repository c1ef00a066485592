#!/bin/sh
# figure.sh: draws a figure, a few lines of Lua with the functions of slides/draw.lua, as a picture
# of its own for a text: on white, so that it can be read on a dark page.
# usage: figure.sh FIGURE.lua OUT.svg WORDS     WORDS: what a reader who cannot see it is told
command -v pandoc >/dev/null 2>&1 || {
    echo "pandoc draws $2. Run: sh setup.sh --dev" >&2
    exit 2
}
filter=$(mktemp) || exit 2
trap 'rm -f "$filter"' EXIT
# pandoc brings the interpreter. A figure of the decks gets its font from the page; a picture alone
# needs a font of its own.
cat >"$filter" <<'TEXT'
function Pandoc()
    local svg = dofile("slides/draw.lua")(os.getenv("FIGURE"), os.getenv("WORDS"), nil)
    svg = svg:gsub("<defs>", "<defs><style>text{font-family:'Liberation Sans',Arial,sans-serif}"
        .. ".mono{font-family:'Liberation Mono',monospace}</style>", 1)
    svg = svg:gsub("</defs>", "</defs><rect width=\"100%%\" height=\"100%%\" fill=\"#fff\"/>", 1)
    return pandoc.Pandoc({pandoc.RawBlock("html", svg)})
end
TEXT
FIGURE=$1 WORDS=$3 pandoc --from markdown --to html --lua-filter "$filter" --output "$2" /dev/null
