#!/bin/sh
# slides.sh: what `make slides` does: makes of each deck (slides/NN_name.md) one HTML file that
# needs nothing else, build/slides/NN_name.html, and with Chromium two PDFs beside it: one page a
# slide, and NN_name.notes.pdf, a slide with its notes on each page. index.html lists all decks.
# With GRADED=17,19 the code and the answers of these lessons are left out, since they are graded
# homework: includes of their solutions, and what stands in ::: {graded="17"}.
# usage: slides.sh DECK.md...   with OUT, the folder (default build/slides), and GRADED in the environment
. grader/make/chromium.sh
. grader/make/graded.sh
GRADED_LESSONS=$(graded_lessons "${GRADED:-}") || exit 2
export GRADED_LESSONS
out=${OUT:-build/slides}
for deck; do
    [ -e "$deck" ] || {
        echo "There is no deck $(basename "$deck" .md). The decks are:" >&2
        find slides -name '[0-9]*.md' | sed 's|.*/|  |; s|\.md$||' | sort >&2
        exit 2
    }
done
if ! command -v pandoc >/dev/null 2>&1; then
    echo "The decks are made by pandoc, which is not installed: sh setup.sh --dev" >&2
    exit 1
fi
[ $# -gt 0 ] || {
    echo "There are no decks here: the student edition has none." >&2
    exit 1
}
mkdir -p "$out" || exit 1

status=0
for deck; do
    if [ ! -r "$deck" ]; then
        echo "There is no deck $deck. There are:" slides/[0-9]*.md >&2
        status=1
        continue
    fi
    new=$out/$(basename "$deck" .md)
    # A warning may be a formula that cannot be set: then no deck is made.
    if pandoc "$deck" -f markdown-implicit_figures -t html5 --section-divs --mathml --fail-if-warnings \
        --template=slides/template.html --lua-filter=slides/deck.lua \
        -V style="$(cat slides/style.css)" -V script="$(cat slides/grow.js slides/deck.js)" -o "$new.html.new" &&
        mv "$new.html.new" "$new.html"; then
        echo "$new.html"
    else
        rm -f "$new.html.new"
        echo "$deck: no deck was made; the reason stands above" >&2
        status=1
        continue
    fi
    if [ -z "$(find_chromium)" ]; then
        without_pdf=1
    elif chromium_print "$(file_url "$new.html")" "$new.pdf" &&
        chromium_print "$(file_url "$new.html")?notes" "$new.notes.pdf"; then
        echo "$new.pdf"
        echo "$new.notes.pdf"
    else
        echo "$new.html: Chromium could not print it; what it said stands above" >&2
        status=1
    fi
done

# The page of all decks that are there: title, session and lessons of the first slide, every slide's
# title as a link.
for html in "$out"/[0-9]*.html; do
    deck=slides/$(basename "$html" .html).md
    [ -e "$deck" ] || continue
    awk -v name="$(basename "$html" .html)" -v pdf="$([ -e "${html%.html}.pdf" ] && echo 1)" '
        /^```/ { code = !code }
        code { next }
        sub(/^## /, "") {
            title = $0
            sub(/ *[{][^}]*[}]$/, "", title)
            n++
            if (n == 1) {
                printf "## [%s](%s.html)\n\n", title, name
                if (pdf) printf "[PDF](%s.pdf), [PDF with notes](%s.notes.pdf)\n\n", name, name
            } else printf "%s%d. [%s](%s.html#%d)\n", n == 2 ? "\n" : "", n, title, name, n
            next
        }
        /^:::/ { notes = 1 }
        n == 1 && !notes { print }' "$deck"
    echo
done >"$out/index.md"
if [ -s "$out/index.md" ]; then
    pandoc "$out/index.md" -f markdown -t html5 --mathml --template=slides/template.html -M pagetitle="The decks" \
        -V style="$(cat slides/index.css)" -o "$out/index.html" && echo "$out/index.html" || status=1
fi
rm -f "$out/index.md"
[ -z "${without_pdf:-}" ] || echo "No PDF: there is no Chromium here (sh setup.sh --dev, or CHROMIUM=your browser)."
exit $status
