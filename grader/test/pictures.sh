#!/bin/sh
# pictures.sh: the text of every lesson shows a picture where its idea is explained, and the ladder
# of its record; each picture of a text is what its figure draws now, has words for who cannot see
# it, and letters that can be read in the width of a page. Behind the record stand at least three
# sentences, one of which tells what a later lesson does about it. usage: pictures.sh
. grader/test/tell.sh
out=build/test/pictures
rm -rf "$out" && mkdir -p "$out" || exit 2

# faults FOLDER: what is wrong with the texts in FOLDER/lessons
faults() {
    for text in "$1"/lessons/[0-9]*/README.md; do
        lesson=$(basename "${text%/README.md}")
        # Pictures stand on lines of their own: ![words](file).
        sed -n '/^## Results/q; s/^!\[..*\](\(.*[.]svg\))$/\1/p' "$text" >"$out/shown"
        [ -s "$out/shown" ] || echo "$lesson: no picture before its results"
        sed -n 's/^.*!\[[^]]*\](\([^)]*\)).*$/\1/p' "$text" | while read -r picture; do
            [ -e "${text%/*}/$picture" ] || echo "$lesson: $picture is not there"
        done
        ! grep -nE '!\[ *\]' "$text" >/dev/null || echo "$lesson: a picture without words"
        ladder=plots/svg/ladder_${lesson%%_*}.svg
        [ ! -e "$ladder" ] || grep -qF "](../../$ladder)" "$text" || echo "$lesson: its ladder is not shown (FIGURES=only make texts)"
        awk -v lesson="$lesson" '
            /^<!-- bench -->/ { rows = 0 }
            /^[|]/ && !behind { rows++ }
            /^<!-- \/bench -->/ { behind = rows > 2; next }  # more than its head
            /^## / { if (behind) exit; behind = 0 }
            behind && !/^[|]/ { said = said " " $0 }
            END {
                if (!behind) exit
                gsub(/<!--[^>]*-->/, "", said)
                if (gsub(/[.]( |$)/, "& ", said) < 3)
                    print lesson ": fewer than three sentences behind its table"
                while (match(said, /(essons?|and|;) [0-9][0-9]/)) {
                    later = later || substr(said, RSTART + RLENGTH - 2, 2) + 0 > lesson + 0
                    said = substr(said, RSTART + RLENGTH)
                }
                if (!later) print lesson ": behind its table nothing is said of a later lesson"
            }' "$text"
        for picture in "${text%/*}"/*.svg; do
            [ -e "$picture" ] || continue
            grep -qF "](${picture##*/})" "$text" || echo "$lesson: ${picture##*/} is shown by no text"
            # A page is 800 pixels wide, and no letter on it smaller than 12.
            tr '<' '\n' <"$picture" | awk -v picture="$lesson: ${picture##*/}" '
                /^svg / && match($0, / width="[0-9.]+/) { wide = 0 + substr($0, RSTART + 8, RLENGTH - 8) }
                /^text / && match($0, /font-size="[0-9.]+/) {
                    size = substr($0, RSTART + 11, RLENGTH - 11)
                    if (wide > 800) size *= 800 / wide
                    if (size < 12) { sub(/^[^>]*>/, ""); print picture ": letters of " size " pixels: " $0 }
                }
                END { if (!wide) print picture ": no width" }'
        done
    done
}
none() { # none NAME WHAT
    if [ -z "$2" ]; then tell ok "$1"; else tell FAIL "$1" "$2"; fi
}
none "every lesson shows its pictures and its ladder, and they can be read" "$(faults .)"

if command -v pandoc >/dev/null 2>&1; then
    expect "all pictures are drawn" sh grader/make/figure.sh texts "$out"
    for picture in lessons/*/*.svg; do
        expect "$picture is what its figure draws now (sh grader/make/figure.sh texts)" cmp "$picture" "$out/$picture"
    done
else
    tell skip "the pictures to the byte" "pandoc is not installed (sh setup.sh --dev)"
fi

# Planted faults: each is found.
planted() { # planted NAME: the text of a lesson 02 from stdin, of which NAME is said
    rm -rf "$out/planted" && mkdir -p "$out/planted/lessons/02_planted" "$out/planted/plots/svg"
    cp plots/svg/ladder_02.svg "$out/planted/plots/svg"
    sed 's/font-size="20"/font-size="16"/' lessons/02_transpose/banks.svg >"$out/planted/lessons/02_planted/banks.svg"
    cat >"$out/planted/lessons/02_planted/README.md"
    found=$(faults "$out/planted")
    case $found in
    *"02_planted: $1"*) tell ok "planted: $1" ;;
    *) tell FAIL "planted: $1" "${found:-nothing was found}" ;;
    esac
}
ladder='![a ladder](../../plots/svg/ladder_02.svg)'
printf '## Results\n\n%s\n![late](banks.svg)\n' "$ladder" | planted "no picture before its results"
printf '![words](nothing.svg)\n%s\n' "$ladder" | planted "nothing.svg is not there"
printf '![](banks.svg)\n%s\n' "$ladder" | planted "a picture without words"
printf '![words](banks.svg)\n' | planted "its ladder is not shown"
printf '%s\n' "$ladder" | planted "banks.svg is shown by no text"
behind='<!-- bench -->\n| a |\n|---|\n| 1 |\n<!-- /bench -->\n'
printf '%b' "$behind" 'Fast. Memory bounds it. Lesson 01 was slow.\n## Exercise\nLesson 03.\n' |
    planted "behind its table nothing is said of a later lesson"
printf '%b' "$behind" 'Fast. Lesson 03 adds.\n' | planted "fewer than three sentences behind its table"
printf '![words](banks.svg)\n%s\n' "$ladder" | planted "banks.svg: letters of 11.1"
finish
