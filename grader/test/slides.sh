#!/bin/sh
# slides.sh: the decks (make slides): every slide is measured in Chromium, and the PDF has as many
# pages. Then planted faults: each of them must be found. SAMPLE="96 WORD" in the environment: all
# decks are made, and one in three, drawn by WORD, is printed and measured.
# usage: slides.sh   (77: a tool is missing)
. grader/test/tell.sh
. grader/test/ledger.sh
. grader/make/chromium.sh
need "the decks" pandoc pdfinfo chromium
out=build/test/slides
rm -rf "$out" && mkdir -p "$out"

# run SCRIPT HTML [?all]: opens the page with the script at its end; prints the text it makes of the
# page.
run() {
    {
        cat "$2"
        echo '<script>'
        cat "grader/test/slides/$1"
        echo '</script>'
    } >"$2.run.html"
    chromium_run --disable-popup-blocking --dump-dom "$(file_url "$2.run.html")${3:-}" |
        sed -n '/<pre>/,/<\/pre>/{s/.*<pre>//;s/<\/pre>.*//;s/&lt;/</g;s/&gt;/>/g;s/&amp;/\&/g;p;}'
}

# measure HTML: "slides N" and a line for each fault.
measure() {
    run measure.js "$1" '?all'
}

printf '%s\n' slides/[0-9]*.md | sample slides 32 >"$out/drawn"
for deck in slides/[0-9]*.md; do
    name=$(basename "$deck" .md)
    # A deck that has not changed by a letter needs no browser.
    if ! said=$(CHROMIUM=none OUT=$out sh grader/make/slides.sh "$deck" 2>&1); then
        tell FAIL "$name is made" "$said"
        continue
    fi
    key=$(cat "$out/$name.html" grader/test/slides.sh grader/test/slides/*.js 2>/dev/null | sha256sum | cut -c 1-32)
    if ledger_has slides "$key"; then
        tell ok "$name: as in an earlier run"
        continue
    elif ! grep -qxF "$deck" "$out/drawn"; then
        tell ok "$name is made; it is not drawn"
        continue
    fi
    before=$failed
    if ! said=$(OUT=$out sh grader/make/slides.sh "$deck" 2>&1); then
        tell FAIL "$name is printed" "$said"
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
    # A sentence of the first slide's notes, and every slide has notes.
    with=$(pdfinfo "$out/$name.notes.pdf" | sed -n 's/^Pages: *//p')
    words=$(sed -n '/^::: notes/{n;p;q;}' "$deck" | cut -d ' ' -f 1-4)
    if [ "$with" = "$slides" ] && pdftotext "$out/$name.notes.pdf" - | grep -qF "$words" && ! pdftotext "$out/$name.pdf" - | grep -qF "$words"; then
        tell ok "$name: notes are in the PDF with notes, and not in the other"
    else
        tell FAIL "$name: notes are in the PDF with notes, and not in the other" "$with pages; \"$words\""
    fi
    grep -q "<a href=\"$name.html#$slides\">" "$out/index.html" || tell FAIL "$name: every slide is in index.html" ""
    keys=$(run keys.js "$out/$name.html")
    if [ "$keys" = "$slides slides: all as it should be" ]; then
        tell ok "$name: keys turn slides and steps; notes are in the presenter's window and nowhere else"
    else
        tell FAIL "$name: the keys turn the slides" "$keys"
    fi
    if grep -nE '(src|href)="?(https?:)?//|@import|url\((https?:)?//' "$out/$name.html" >"$out/network"; then
        tell FAIL "$name: needs no network" "$(cut -c 1-200 "$out/network")"
    else
        tell ok "$name: needs no network"
    fi
    [ "$failed" != "$before" ] || ledger_add slides "$key"
done

# Figures that only a lesson's text shows, a slide each.
{
    printf -- '---\ntitle: Figures\n---\n'
    for figure in slides/figures/*.lua; do
        grep -qF "](figures/${figure##*/})" slides/[0-9]*.md ||
            printf '\n## %s {.room}\n\n![a figure](figures/%s)\n\n::: notes\nSay it.\n:::\n' "${figure##*/}" "${figure##*/}"
    done
} >"$out/figures.md"
if said=$(CHROMIUM=none OUT=$out sh grader/make/slides.sh "$out/figures.md" 2>&1); then
    measured=$(measure "$out/figures.html")
    wanted="slides $(grep -c '^## ' "$out/figures.md")"
    if [ "$measured" = "$wanted" ]; then tell ok "figures that are in no deck: nothing sticks out"; else
        tell FAIL "figures that are in no deck" "$measured, not $wanted"
    fi
else
    tell FAIL "figures that are in no deck are drawn" "$said"
fi

# A deck with a fault on each slide but the first and the last: all of them are found, and nothing
# else.
printf -- '---\ntitle: Planted\n---\n\n## First {.room}\n\nText.\n\n::: notes\nSay it.\n:::\n' >"$out/planted.md"
echo 'size(200, 100) box(10, 10, 100, 50, {text = "far too many words"})' >"$out/words.lua"
echo 'size(200, 50) box(10, 10, 100, 50)' >"$out/cut.lua"
echo 'size(1100, 60) box(10, 10, 1000, 40, {text = "words"})' >"$out/room.lua"
# As wide as the slide: it cannot grow, nor can its words.
echo 'size(1168, 100) box(10, 10, 500, 50) text(10, 90, string.rep("small ", 25), {size = 17})' >"$out/small.lua"
: >"$out/wanted"
# planted WHAT: a slide from stdin, of which measure says WHAT. It gets notes unless they are the
# fault.
planted() {
    printf '\n## Fault\n\n' >>"$out/planted.md"
    cat >>"$out/planted.md"
    [ "$1" = "has no notes" ] || printf '\n::: notes\nSay it.\n:::\n' >>"$out/planted.md"
    echo "$1" >>"$out/wanted"
}
seq 1 20 | sed 's/^/- line /' | planted "<ul> leaves the slide"
printf '    int code = too_wide(%0110d);\n' 0 | planted "<pre> is smaller than what is in it"
printf '$$ %s x $$\n' "$(seq 1 40 | sed 's/.*/a_{&} +/' | tr '\n' ' ')" | planted "a formula leaves the slide"
echo "Text." | planted "has no notes"
# shellcheck disable=SC2016  # pandoc's marks of code
printf '```{.c include="x.cu" from="a" to="    }"}\n```\n' | planted "a listing was not understood"
echo "The sum \$ x^2 \$ is not a formula." | planted "raw mathematics"
printf 'A thought.\n\nAnother.\n' | planted "has several thoughts and no step"
printf '    code\n\n![a box](../%s/room.lua)\n' "$out" | planted "has several thoughts and no step"
printf 'One.\n\nTwo.\n\nThree.\n\n- Four?\n\n::: ask\nFive?\n:::\n\nFour.\n' | planted "has 4 thoughts at once"
printf '%s\n' '- One.' '- Two.' '' 'So three.' | planted "is there before the steps above it"
echo "Text." | planted "has nothing in its last"
echo '<p style="font-size: 12px">Read this.</p>' | planted "letters of 12 pixels"
echo '<img alt="nothing" src="data:image/svg+xml,nothing">' | planted "a picture is missing"
echo "![a plot](plots/svg/roofline.svg){width=500}" | planted "a plot's letters are too small"
echo "![a box](../$out/words.lua)" | planted "words are wider than their box"
echo "![a box](../$out/cut.lua)" | planted "a box leaves its drawing"
echo "![a box](../$out/small.lua)" | planted "letters of 17 pixels in a drawing"
printf '<div style="width: 700px">\n\n![a box](../%s/room.lua)\n\n</div>\n' "$out" | planted "a drawing leaves room"
cat >>"$out/planted.md" <<'DECK'

## Last {.room .whole}

$x^2$, and `code`.

A second thought, on a slide that is shown whole and may leave room.

::: notes
Say it.
:::
DECK
if ! said=$(CHROMIUM=none OUT=$out sh grader/make/slides.sh "$out/planted.md" 2>&1); then
    tell FAIL "the deck of planted faults is made" "$said"
fi
measured=$(measure "$out/planted.html")
slide=1
while read -r wanted; do
    slide=$((slide + 1))
    found=$(printf '%s\n' "$measured" | grep "^slide $slide: ")
    case $found in
    *"slide $slide: $wanted"*) tell ok "planted: $wanted" ;;
    *) tell FAIL "planted: $wanted" "slide $slide: ${found:-nothing was found}" ;;
    esac
done <"$out/wanted"
others=$(printf '%s\n' "$measured" | grep -E "^slide (1|$((slide + 1))): ")
if [ -z "$others" ]; then tell ok "planted: nothing is found on a slide without a fault"; else
    tell FAIL "planted: nothing is found on a slide without a fault" "$others"
fi

# refused NAME WHAT: a deck with the lines from stdin is not made, and WHAT is said, with the deck's
# line.
refused() {
    {
        printf -- '---\ntitle: Refused\n---\n\n## Slide\n\n'
        cat
    } >"$out/$1.md"
    if said=$(CHROMIUM=none OUT=$out sh grader/make/slides.sh "$out/$1.md" 2>&1); then
        tell FAIL "refused: $1" "it was made"
    elif ! printf '%s\n' "$said" | grep -qF -- "$out/$1.md:7: $2"; then
        tell FAIL "refused: $1" "$said"
    else
        tell ok "refused: $1"
    fi
}
reduction=solutions/03_reduction/reduction.cu
refused no_file "there is no file solutions/nowhere.cu" <<'DECK'
```{.c include="solutions/nowhere.cu" region="sum"}
```
DECK
refused no_region "\"no such words\" is in no line of $reduction" <<DECK
\`\`\`{.c include="$reduction" region="no such words"}
\`\`\`
DECK
refused two_lines "\"float\" is in lines" <<DECK
\`\`\`{.c include="$reduction" from="float" to="}"}
\`\`\`
DECK
refused no_end "\"no such end\" is in no line of $reduction after line" <<DECK
\`\`\`{.c include="$reduction" from="__global__ void reduction_kernel" to="no such end"}
\`\`\`
DECK
refused no_record "plots/data/nvidia-h200/03_reduction.csv has no line \"1 x 1,solution\"" <<'DECK'
It runs at `03, 1 x 1, solution, gbytes_per_s`{.bench} GB/s.
DECK
refused no_picture "there is no file plots/svg/nothing.svg" <<'DECK'
![nothing](plots/svg/nothing.svg)
DECK
finish
