#!/bin/sh
# book.sh: the book (make book): all its links lead somewhere, nothing is fetched from outside, on a
# phone and on a desktop nothing is wider than the screen, its letters can be read, light and dark,
# its search finds; Chromium prints it. Then planted faults: each of them must be found.
# SAMPLE="96 WORD" in the environment: on the screens one page in four, drawn by WORD.
# usage: book.sh   (77: a tool is missing)
. grader/test/tell.sh
. grader/test/ledger.sh
. grader/make/chromium.sh
need "the book" pandoc chromium pdftotext
out=build/test/book
rm -rf "$out" && mkdir -p "$out" || exit 2
root=$PWD
book=$out/book

if ! said=$(OUT=$book PDF=1 sh grader/make/book.sh 12_flash_forward 2>&1); then
    tell FAIL "the book is made" "$said"
    finish
    exit
fi
tell ok "the book is made"

# links FOLDER: what is wrong with the links of all its pages; the last line counts them
links() {
    (cd "$1" && find . -type f | sed 's|^[.]/||' | LC_ALL=C sort >"$root/$out/files" &&
        grep '[.]html$' "$root/$out/files" | grep -v '^slides/' |
        xargs awk -f "$root/grader/test/book/links.awk" "$root/$out/files")
}
found=$(links $book)
case $found in
*'
'* | '') tell FAIL "every link leads to a file and a place that are there, none is fetched" "$(echo "$found" | head -n 15)" ;;
*) if [ "${found% links}" -gt 2000 ]; then tell ok "$found lead to files and places that are there, none is fetched"; else
    tell FAIL "there are links" "$found"; fi ;;
esac

# Every lesson is a page, in the order of the course; from the start, next leads through all pages
# and previous back.
walk() { # walk next|prev FROM: the pages on the way
    page=$2
    while [ -n "$page" ] && [ "$(wc -l <"$out/walked")" -lt 200 ]; do
        echo "$page" >>"$out/walked"
        page=$(sed -n "s/^<link rel=\"$1\" href=\"\(.*\)\">\$/\1/p" "$book/$page")
    done
}
: >"$out/walked" && walk next index.html && mv "$out/walked" "$out/forth"
: >"$out/walked" && walk prev "$(tail -n 1 "$out/forth")" && sort -r "$out/walked" >/dev/null && awk '{ line[NR] = $0 }
    END { for (i = NR; i > 0; i--) print line[i] }' "$out/walked" >"$out/back"
find $book -maxdepth 1 -name '*.html' | sed 's|.*/||' | sort >"$out/pages"
if cmp -s "$out/forth" "$out/back" && sort "$out/forth" | cmp -s - "$out/pages"; then
    tell ok "next leads through all $(wc -l <"$out/pages") pages, and previous back"
else
    tell FAIL "next leads through all pages, and previous back" "$(sort "$out/forth" | diff - "$out/pages"; diff "$out/forth" "$out/back")"
fi
expect "every lesson has its page, in their order" sh -c "grep '^[0-9]' $out/forth | sed 's/[.]html//' >$out/order &&
    ls lessons | grep '^[0-9]' | cmp - $out/order"

# measured FOLDER WIDTH QUERIES PAGE...: what measure.js says of the pages on a screen of this width
measured() {
    folder=$1 width=$2 queries=$3
    shift 3
    {
        echo '<!DOCTYPE html><meta charset="utf-8"><body>'
        for page; do
            echo "<iframe name=\"$page at $width\" src=\"$page\" style=\"width:${width}px;height:800px;border:0\"></iframe>"
        done
        echo "<script>const queries = [$queries];"
        cat grader/test/book/measure.js
        echo '</script>'
    } >"$folder/frames.html"
    chromium_run --allow-file-access-from-files --window-size=1400,900 --dump-dom "$(file_url "$folder/frames.html")" |
        sed -n '/<pre id="said">/,/<\/pre>/{s/.*<pre id="said">//;s/<\/pre>.*//;s/&lt;/</g;s/&gt;/>/g;s/&amp;/\&/g;/./p;}'
    rm "$folder/frames.html"
}
# The title of each lesson finds its page first, a few words what they mean.
queries=$(for text in lessons/[0-9]*/README.md; do
    name=${text#lessons/}
    sed -n "1s|^# *\(.*\)|[\"\1\", \"${name%/README.md}.html\"],|p" "$text"
done)'["glossary", "lessons.html"], ["race from memory", "grader.html"]'
sources="source/solutions/12_flash_forward/flash_forward.cu.html source/solutions/12_flash_forward/steps/index.html"
sample book 24 <"$out/forth" >"$out/shown"
frames="$(($(wc -l <"$out/shown") + 2)) frames"
for width in 390 1366; do
    words="$width wide: $frames, nothing sticks out, letters can be read, light and dark; the search finds"
    key=$width-$(cat grader/test/book.sh grader/test/book/measure.js "$out/shown" $book/*.html $book/book.* $book/theme.js | sha256sum | cut -c 1-32)
    if ledger_has book "$key"; then
        tell ok "$words (as in an earlier run)"
        continue
    fi
    # shellcheck disable=SC2046,SC2086  # words
    said=$(measured $book $width "$queries" $(cat "$out/shown") $sources)
    if [ "$said" = "$frames" ]; then
        tell ok "$words"
        ledger_add book "$key"
    else
        tell FAIL "$words" "$(echo "$said" | head -n 15)"
    fi
done

# Each source's line is the file's.
page=$book/source/solutions/12_flash_forward/flash_forward.cu.html
sed -n '/^<pre class="source"/,/<\/pre>/p' "$page" | sed 's/<[^>]*>//g; s/&lt;/</g; s/&gt;/>/g; s/&amp;/\&/g' | sed '$d' >"$out/source"
expect "a source's page holds its text" cmp solutions/12_flash_forward/flash_forward.cu "$out/source"

# Printed: the whole chapter, its picture, its code wrapped and not cut off.
pdftotext -layout $book/12_flash_forward.pdf "$out/printed"
for words in "Why the rescale is exact" "Homework questions" "Q tile 2" "CASE='scores" "[0-9] s *K and V are read once per tile of queries"; do
    if grep -q -- "$words" "$out/printed"; then tell ok "printed: $words"; else
        tell FAIL "printed: $words" "$(pdfinfo $book/12_flash_forward.pdf | grep Pages)"
    fi
done

# ---- planted faults

planted=$out/planted
mkdir -p $planted && cp $book/*.css $book/*.js $planted/
# plant NAME: a page whose text is stdin
plant() {
    {
        sed '/<main/q' $book/12_flash_forward.html | grep -v '^<link rel="[pn]'
        cat
        sed -n '/^<script src="index.js"/,$p' $book/12_flash_forward.html
    } | awk '/^<details class="contents">/ { skip = 1 } !skip { print } /^<\/details>/ { skip = 0 }' | sed 's/href="#[^"]*"//' >"$planted/$1.html"
}
is_found() { # is_found WHAT WORDS IN
    case $3 in
    *"$2"*) tell ok "planted: $1" ;;
    *) tell FAIL "planted: $1" "$(echo "${3:-nothing was found}" | head -n 5)" ;;
    esac
}
echo '<p><a href="nowhere.html">words</a> <a href="wide.html#nowhere">words</a> <img src="https://example.org/x.svg" alt="x"></p><p id="twice"></p><p id="twice"></p>' | plant links
echo '<p><span style="display: inline-block; width: 500px">too wide</span></p>' | plant wide
echo '<p style="overflow-x: auto"><span style="display: inline-block; width: 500px">too wide</span></p>' | plant sideways
echo '<p style="color: #999">pale words</p>' | plant pale
echo '<p style="color: #000">dark words</p>' | plant dark
echo '<p style="font-size: 11px">small words</p>' | plant small
echo '<p><img class="white" src="nothing.svg" alt="words"></p>' | plant picture
echo '<pre>a line of a listing that is far too long for the screen of a phone, and no key scrolls it</pre>' | plant keys
found=$(links $planted)
is_found "a link to no page" "links.html: nowhere.html is not there" "$found"
is_found "a link to no place" "links.html: wide.html#nowhere: no such place" "$found"
is_found "a picture from outside" "links.html: https://example.org/x.svg would be fetched" "$found"
is_found "a place that is there twice" "links.html: #twice is there twice" "$found"
faults="wide.html sideways.html pale.html dark.html small.html picture.html keys.html"
# shellcheck disable=SC2086  # words
said=$(for width in 390 1366; do measured $planted $width '["online softmax", "nowhere.html"]' $faults; done)
is_found "too wide" "wide.html at 390: <span> sticks out: too wide" "$said"
is_found "text that scrolls sideways" "sideways.html at 390: <p> scrolls sideways" "$said"
is_found "pale letters" "pale.html at 1366: light: rgb(153, 153, 153) on rgb(255, 255, 255)" "$said"
is_found "dark letters on dark" "dark.html at 1366: dark: rgb(0, 0, 0) on " "$said"
is_found "small letters" "small.html at 1366: letters of 11px" "$said"
is_found "no picture" "picture.html at 390: nothing.svg is no picture" "$said"
is_found "a box that no key scrolls" "keys.html at 390: a box scrolls by no key" "$said"
is_found "a search that finds another page" '"online softmax" finds 10_online_softmax.html, not nowhere.html' "$said"
case $said in
*"wide.html at 1366: <"*) tell FAIL "planted: nothing is too wide on a desktop" "$said" ;;
*) tell ok "planted: nothing is too wide on a desktop" ;;
esac

# refused WHAT TEXT WORDS: page.lua does not take a text, and says WORDS
refused() {
    if said=$(printf '%s\n' "$2" | BOOK_FILE=lessons/12_flash_forward/README.md BOOK_PAGE=planted BOOK_WORK=$planted \
        pandoc -f gfm -t html5 --lua-filter=grader/make/book/page.lua -o /dev/null 2>&1); then
        tell FAIL "refused: $1" "it was taken"
    else
        is_found "$1" "$3" "$said"
    fi
}
refused "a text with a link to no file" "[words](../../solutions/none.cu)" "lessons/12_flash_forward/README.md: the link to ../../solutions/none.cu leads nowhere"
refused "a text with no picture" "![words](none.svg)" "lessons/12_flash_forward/README.md: there is no picture none.svg"
finish
