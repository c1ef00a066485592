# plain.awk: a picture without patterns, to be printed: of each shape that a pattern filled,
# Chromium would print an image of the whole picture. A pattern's ground takes its place, or where
# it has none (a plot's hatching) a pale green. usage: awk -f plain.awk PICTURE.svg
{ text = text $0 "\n" }
END {
    rest = text
    while (match(rest, /<pattern id="[^"]*"[^>]*><rect [^>]*fill="[^"]*"/)) {
        pattern = substr(rest, RSTART, RLENGTH)
        rest = substr(rest, RSTART + RLENGTH)
        id = colour = pattern
        sub(/^<pattern id="/, "", id)
        sub(/".*/, "", id)
        sub(/.*fill="/, "", colour)
        sub(/"$/, "", colour)
        gsub("url\\(#" id "\\)", colour, text)
    }
    gsub(/url\(#gpPat[0-9]+\)/, "#cfece3", text)
    printf "%s", text
}
