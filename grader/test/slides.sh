#!/bin/sh
# slides.sh: the decks (make slides): every slide is measured in Chromium, and the PDF has as many pages. Then
# planted faults: each of them must be found.
# usage: slides.sh   (77: a tool is missing)
. grader/test/tell.sh
. grader/make/chromium.sh
missing=
for tool in pandoc pdfinfo; do command -v $tool >/dev/null 2>&1 || missing="$missing $tool"; done
[ -n "$(find_chromium)" ] || missing="$missing chromium"
if [ -n "$missing" ]; then
    tell skip "the decks" "there is no$missing (sh setup.sh --dev)"
    exit 77
fi
out=build/test/slides
rm -rf "$out" && mkdir -p "$out"

# measure HTML: "slides N" and a line for each fault.
measure() {
    {
        cat "$1"
        echo '<script>'
        cat grader/test/slides/measure.js
        echo '</script>'
    } >"$1.measured.html"
    chromium_run --dump-dom "$(file_url "$1.measured.html")?all" |
        sed -n '/<pre>/,/<\/pre>/{s/.*<pre>//;s/<\/pre>.*//;s/&lt;/</g;s/&gt;/>/g;s/&amp;/\&/g;p;}'
}

for deck in slides/[0-9]*.md; do
    name=$(basename "$deck" .md)
    if ! said=$(OUT=$out sh grader/make/slides.sh "$deck" 2>&1); then
        tell FAIL "$name is made" "$said"
        continue
    fi
    measured=$(measure "$out/$name.html")
    slides=$(printf '%s\n' "$measured" | sed -n 's/^slides //p')
    if [ "${slides:-0}" -gt 1 ] && [ "$measured" = "slides $slides" ]; then
        tell ok "$name: $slides slides, nothing sticks out"
    else
        tell FAIL "$name" "$measured"
    fi
    pages=$(pdfinfo "$out/$name.pdf" | sed -n 's/^Pages: *//p')
    shape=$(pdfinfo "$out/$name.pdf" | sed -n 's/^Page size: *//p')
    if [ "$pages" = "$slides" ] && [ "$shape" = "960 x 540 pts" ]; then
        tell ok "$name: as many pages in the PDF"
    else
        tell FAIL "$name: as many pages in the PDF" "$pages pages of $shape for $slides slides"
    fi
    if grep -nE '(src|href)="?(https?:)?//|@import|url\((https?:)?//' "$out/$name.html" >"$out/network"; then
        tell FAIL "$name: needs no network" "$(cut -c 1-200 "$out/network")"
    else
        tell ok "$name: needs no network"
    fi
done

# planted NAME WHAT: a deck of two slides, the second from stdin; making or measuring it says WHAT.
planted() {
    deck=$out/$1.md
    {
        printf -- '---\ntitle: Planted\n---\n\n## First\n\nText.\n\n::: notes\nSay it.\n:::\n\n'
        cat
    } >"$deck"
    said=$(OUT=$out sh grader/make/slides.sh "$deck" 2>&1) && said=$(measure "$out/$1.html")
    if printf '%s\n' "$said" | grep -qF -- "$2"; then
        tell ok "planted: $1 is found"
    else
        tell FAIL "planted: $1 is found" "not \"$2\" but: $said"
    fi
}
notes='
::: notes
Say it.
:::'
line="a line"
{ echo "## Long"; for n in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do echo "- $line $n"; done; echo "$notes"; } |
    planted too_long "<ul> leaves the slide"
planted too_wide "<pre> is smaller than what is in it" <<DECK
## Wide

    int a_line_of_code_that_is_much_too_wide = for_any_slide(even_one, of_1280_pixels, however, small, the, letters_are);
$notes
DECK
planted wide_formula "a formula leaves the slide" <<DECK
## Formula

\$\$ a_{1} + a_{2} + a_{3} + a_{4} + a_{5} + a_{6} + a_{7} + a_{8} + a_{9} + \text{and many more that do not find any room on a slide, whatever the font} \$\$
$notes
DECK
planted no_notes "slide 2: has no notes" <<DECK
## Silent

Text.
DECK
planted raw_formula "raw mathematics" <<DECK
## Raw

The sum \$ x^2 \$ is not a formula.
$notes
DECK
planted small_letters "letters of 12 pixels" <<DECK
## Small

<p style="font-size: 12px">Read this.</p>
$notes
DECK
planted bad_picture "a picture is missing" <<DECK
## Picture

<img alt="nothing" src="data:image/svg+xml,nothing">
$notes
DECK
echo 'size(200, 100) box(10, 10, 100, 50, {text = "far too many words"})' >"$out/box.lua"
echo 'size(200, 50) box(10, 10, 100, 50)' >"$out/cut.lua"
planted wide_words "words are wider than their box" <<DECK
## Drawing

![a box](../$out/box.lua)
$notes
DECK
planted cut_drawing "a box leaves its drawing" <<DECK
## Drawing

![a box](../$out/cut.lua)
$notes
DECK
planted no_file "no_file.md:15: there is no file solutions/nowhere.cu" <<DECK
## File

\`\`\`{.c include="solutions/nowhere.cu" region="sum"}
\`\`\`
$notes
DECK
planted no_region "no_region.md:15: \"no such words\" is in no line of solutions/03_reduction/reduction.cu" <<DECK
## Region

\`\`\`{.c include="solutions/03_reduction/reduction.cu" region="no such words"}
\`\`\`
$notes
DECK
planted many_lines "say more of it" <<DECK
## Lines

\`\`\`{.c include="solutions/03_reduction/reduction.cu" from="float" to="}"}
\`\`\`
$notes
DECK
planted no_record "no_record.md:15: plots/data/nvidia-h200/03_reduction.csv has no line" <<DECK
## Number

It runs at \`03, 1 x 1, solution, gbytes_per_s\`{.bench} GB/s.
$notes
DECK
planted nothing_wrong "slides 2" <<DECK
## Right

\$x^2\$, and \`code\`.
$notes
DECK
finish
