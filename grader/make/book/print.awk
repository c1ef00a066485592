# print.awk: all pages of the book as one, to be printed: their texts behind each other, with a
# title and the contents. A link to a page leads to its place here; to anything else it is words.
# Pictures are those that plain.awk made, x.print.svg.
# usage: awk -f print.awk PAGE.html...    a single page has neither title nor contents
function inside(line,    done, tag, to) {
    done = ""
    while (match(line, / (id|href)="[^"]*"/)) {
        tag = substr(line, RSTART, RLENGTH)
        done = done substr(line, 1, RSTART - 1)
        line = substr(line, RSTART + RLENGTH)
        to = tag
        sub(/^ [a-z]*="/, "", to)
        sub(/"$/, "", to)
        if (tag ~ /^ id=/) {
            tag = " id=\"" page "--" to "\""
        } else if (to ~ /^#/) {
            tag = " href=\"#" page "--" substr(to, 2) "\""
        } else if (match(to, /^[a-z0-9_A-Z]+\.html/)) {
            tag = substr(to, RLENGTH + 1)
            to = substr(to, 1, RLENGTH - 5)
            tag = " href=\"#" to (tag == "" ? "" : "--" substr(tag, 2)) "\""
        } else if (to !~ /^https?:/) {
            tag = ""
        }
        done = done tag
    }
    gsub(/src="[a-z0-9_A-Z\/]*/, "&.print", line)
    return done line
}
BEGIN {
    whole = ARGC > 2
    print "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">"
    print "<title>Write FlashAttention in CUDA C</title>\n<link rel=\"stylesheet\" href=\"book.css\">\n</head>\n<body>\n<main>"
    if (whole) print "<div class=\"title\"><p>A course for C programmers</p><h1>Write FlashAttention in CUDA C</h1></div>"
}
FNR == 1 {
    page = FILENAME
    sub(/\.html$/, "", page)
    reading = 0
}
# The contents are those beside the first page.
whole && NR == FNR && /^<details class="contents">/ { listing = 1; print "<h1>Contents</h1>\n<div class=\"toc\">"; next }
listing && /^<\/details>/ { listing = 0; print "</div>" }
listing { print inside($0) }
/^<main/ { reading = 1; print "<section id=\"" page "\">"; next }
/^<footer>/ && reading { reading = 0; print "</section>" }
reading { print inside($0) }
END { print "</main>\n</body>\n</html>" }
