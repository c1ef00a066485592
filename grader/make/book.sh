#!/bin/sh
# book.sh: what `make book` does: the lessons' texts and what stands beside them as a book that a
# browser reads without a server, build/book/index.html: a page a text, the sources that they link
# to, a search, and no address outside. With PDF=1 Chromium prints it, build/book/book.pdf.
# usage: book.sh [NN_name]    with OUT, the folder (default build/book), and PDF in the environment
# NN_name: of the book only this lesson is printed, NN_name.pdf.
. grader/make/chromium.sh
out=${OUT:-build/book} look=grader/make/book
command -v pandoc >/dev/null 2>&1 || {
    echo "The book is made by pandoc, which is not installed: sh setup.sh --dev" >&2
    exit 1
}
[ -z "${PDF:-}" ] || [ -n "$(find_chromium)" ] || {
    echo "PDF=1 needs Chromium: sh setup.sh --dev, or CHROMIUM=your browser" >&2
    exit 1
}
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT

# The pages in their order: name, the text, its short title in the contents.
pages() {
    echo "lessons lessons/README.md How to work; notation; glossary"
    for text in lessons/[0-9]*/README.md; do
        name=${text#lessons/} name=${name%/README.md}
        echo "$name $text $(sed -n '1s/^# *//p' "$text")"
    done
    while read -r name text title; do
        [ ! -e "$text" ] || echo "$name $text $title"
    done <<'PAGES'
blackwell lessons/BLACKWELL.md After Hopper: Blackwell
ideas lessons/IDEAS.md What ideas are worth
course README.md The course: commands, grading, platforms
instructors lessons/INSTRUCTORS.md For instructors
contributing CONTRIBUTING.md Contributing
grader grader/README.md The grader: a map
cpu_device grader/cpu/README.md The CPU device
PAGES
}
pages >"$work/pages"

# README.md is two pages. The start: what the course is, and its lessons; and all behind that.
start() {
    awk '/^## The lessons/ { lessons = 1; print; next } lessons && /^## / { exit } { print }' README.md
}
text_of() { # text_of NAME TEXT TITLE
    case $1 in
    course)
        printf '# %s\n\n' "$3"
        awk '/^## The lessons/ { lessons = 1; next } lessons && /^## / { rest = 1 } rest' README.md
        ;;
    [0-9]*) cat "$2" && files_of "$1" ;;
    *) cat "$2" ;;
    esac
}

# contents CURRENT: the list of all pages
contents() {
    awk -v current="$1" '
        function group(words) { printf "%s<p>%s</p>\n<ul>\n", (n++ ? "</ul>\n" : ""), words }
        NR == 1 { group("Begin"); printf "<li><a href=\"index.html\"%s>Start</a></li>\n",
                      (current == "index" ? " aria-current=\"page\"" : "") }
        /^[0-9]/ && !lessons++ { group("The lessons") }
        !/^[0-9]/ && lessons && !beside++ { group("Beside them") }
        {
            name = $1
            sub(/^[^ ]* [^ ]* /, "")
            printf "<li><a href=\"%s.html\"%s>%s</a></li>\n", name,
                (name == current ? " aria-current=\"page\"" : ""), $0
        }
        END { print "</ul>" }' "$work/pages"
}

# files_of LESSON: its files, a paragraph of Markdown; page.lua makes links of their names
files_of() {
    line="The files of this lesson:"
    for path in "lessons/$1"/*.h "exercises/$1"/*.* "solutions/$1"/*.* "solutions/$1"/steps/*.* "grader/$1/check.c"; do
        [ ! -e "$path" ] || line="$line \`$path\`,"
    done
    printf '\n::: files\n%s\n:::\n' "${line%,}"
}

# make_page NAME TEXT PREVIOUS NEXT: of the Markdown in stdin
make_page() {
    contents "$1" >"$work/$1.contents"
    BOOK_FILE=$2 BOOK_PAGE=$1 BOOK_WORK=$work pandoc -f gfm+tex_math_dollars+fenced_divs -t html5 --mathml --wrap=none --columns=10000 \
        --fail-if-warnings --template="$look/page.html" --lua-filter="$look/page.lua" -V contents="$(cat "$work/$1.contents")" \
        ${3:+-V previous="$3" -V previous_title="$(title_of "$3")"} \
        ${4:+-V next="$4" -V next_title="$(title_of "$4")"} -o "$out.new/$1.html"
}
title_of() {
    [ "$1" != index ] || echo Start
    sed -n "s/^$1 [^ ]* //p" "$work/pages"
}

rm -rf "$out.new"
mkdir -p "$out.new" || exit 1
cp "$look/book.css" "$look/book.js" "$look/theme.js" "$out.new/" || exit 1
before=index
{
    start | make_page index README.md '' lessons || echo index >"$work/failed"
} &
# shellcheck disable=SC2094  # nobody writes it
while read -r name text title; do
    next=$(awk -v name="$name" 'found { print $1; exit } $1 == name { found = 1 }' "$work/pages")
    # Two beside each other.
    [ "$before" = index ] || wait "$waiting"
    {
        text_of "$name" "$text" "$title" | make_page "$name" "$text" "$before" "$next" || echo "$name" >"$work/failed"
    } &
    waiting=${last:-$!} last=$!
    before=$name
done <"$work/pages"
wait
[ ! -e "$work/failed" ] || exit 1

# What the pages link to: pictures as they are, sources as pages, with the files of linked folders.
cat "$work"/*.used | sort -u >"$work/used"
linked() { sed -n "s/^$1 //p" "$work/used"; }
folders=$(linked folder)
{
    linked source
    # shellcheck disable=SC2086  # words
    [ -z "$folders" ] || find $folders -type f
} | sort -u >"$work/sources"
{
    linked picture
    grep '[.]svg$' "$work/sources"
    ! grep -q 'slides/sweep/' "$work/used" || find slides/sweep -type f
} | sort -u | while read -r file; do
    mkdir -p "$out.new/${file%/*}" && cp "$file" "$out.new/$file"
done
# A plot that turns dark by itself would not follow the switch.
find "$out.new" -name '*.svg' -exec sed -i '/^<style>@media (prefers-color-scheme: dark)/d' {} +
while read -r file; do
    case $file in */*) mkdir -p "$out.new/source/${file%/*}" ;; esac
done <"$work/sources"
# shellcheck disable=SC2046  # names without blanks
awk -v out="$out.new" -v folders="$(echo "$folders" | tr '\n' ' ')" \
    -v pictures="$(grep '[.]svg$' "$work/sources" | tr '\n' ' ')" -f $look/source.awk \
    $(grep -v '[.]svg$' "$work/sources") || exit 1

# The search, in the order of the book
sed 's/ .*/.words/' "$work/pages" | (cd "$work" && xargs cat index.words) | LC_ALL=C awk -f $look/index.awk >"$out.new/index.js"

# Printed, all pages are one, and links are inside it or words.
if [ -n "${PDF:-}" ]; then
    find "$out.new/plots" "$out.new/lessons" "$out.new/grader" -name '*.svg' | while read -r picture; do
        awk -f $look/plain.awk "$picture" >"${picture%.svg}.print.svg"
    done
    pdf=${1:-book}.pdf printed=${1:+$1.html}
    printed=${printed:-index.html $(sed 's/ .*/.html/' "$work/pages")}
    # shellcheck disable=SC2086  # words
    (cd "$out.new" && awk -f "$OLDPWD/$look/print.awk" $printed >print.html)
    chromium_print "$(file_url "$out.new/print.html")" "$out.new/$pdf" --generate-pdf-document-outline || {
        echo "Chromium could not print the book; what it said stands above" >&2
        exit 1
    }
    rm "$out.new/print.html"
    find "$out.new" -name '*.print.svg' -exec rm {} +
fi

rm -rf "$out" && mv "$out.new" "$out" && echo "$out/index.html" || exit 1
[ -z "${PDF:-}" ] || echo "$out/$pdf"
