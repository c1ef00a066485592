#!/bin/sh
# figure.sh: draws a figure in Lua, by the functions of slides/draw.lua, as an SVG of its own.
# usage: figure.sh FIGURE.lua FILE.svg "what it shows"
command -v pandoc >/dev/null 2>&1 || {
    echo "pandoc draws the figures. Run: sh setup.sh --dev" >&2
    exit 2
}
filter=$(mktemp) || exit 2
trap 'rm -f "$filter"' EXIT
# pandoc brings the interpreter. A figure of the decks gets its font from the page; a picture alone
# needs a font of its own.
cat >"$filter" <<TEXT
function Pandoc()
    local svg = dofile("slides/draw.lua")("$1", "$3", nil)
    svg = svg:gsub("<defs>", "<defs><style>text{font-family:'Liberation Sans',Arial,sans-serif}"
        .. ".mono{font-family:'Liberation Mono',monospace}</style>", 1)
    return pandoc.Pandoc({pandoc.RawBlock("html", svg)})
end
TEXT
pandoc --from markdown --to html --lua-filter "$filter" --output "$2" /dev/null
