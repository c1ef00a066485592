#!/bin/sh
# figure.sh: draws a figure, a few lines of Lua with the functions of slides/draw.lua, as a picture
# of its own for a text: on white, so that it can be read on a dark page.
# usage: figure.sh FIGURE.lua OUT.svg WORDS     WORDS: what a reader who cannot see it is told
#        figure.sh texts [FOLDER]   all pictures that lines ![WORDS](x.svg) of the lessons' texts show, of
#                                   slides/figures/x.lua; beside the texts, or below FOLDER
command -v pandoc >/dev/null 2>&1 || {
    echo "pandoc draws figures. Run: sh setup.sh --dev" >&2
    exit 2
}
filter=$(mktemp) || exit 2
trap 'rm -f "$filter"' EXIT
# pandoc brings the interpreter. A figure of the decks gets its font from the page; a picture alone
# needs a font of its own.
cat >"$filter" <<'TEXT'
function Pandoc()
    local figure = os.getenv("FIGURE")
    local records = dofile("slides/records.lua")(function(message)
        io.stderr:write(figure .. ": " .. message .. "\n")
        os.exit(1)
    end)
    local svg = dofile("slides/draw.lua")(figure, os.getenv("WORDS"), records.value_of)
    svg = svg:gsub("<defs>", "<defs><style>text{font-family:'Liberation Sans',Arial,sans-serif}"
        .. ".mono{font-family:'Liberation Mono',monospace}</style>", 1)
    svg = svg:gsub("</defs>", "</defs><rect width=\"100%%\" height=\"100%%\" fill=\"#fff\"/>", 1)
    return pandoc.Pandoc({pandoc.RawBlock("html", svg)})
end
TEXT
draw() { # draw FIGURE.lua OUT.svg WORDS
    FIGURE=$1 WORDS=$3 pandoc --from markdown --to html --lua-filter "$filter" --output "$2" /dev/null
}

if [ "$1" != texts ]; then
    draw "$@"
    exit
fi
status=0
for text in lessons/*/README.md; do
    to=${2:+$2/}${text%/*}
    mkdir -p "$to"
    sed -n 's/^!\[\(.*\)\](\([A-Za-z0-9_]*\)[.]svg)$/\2 \1/p' "$text" >"$filter.shown"
    while read -r name words; do
        draw "slides/figures/$name.lua" "$to/$name.svg" "$words" || status=1
    done <"$filter.shown"
    rm "$filter.shown"
done
exit $status
