# index.awk: the index of the book's search, index.js (see book.js), of the lines that page.lua
# left: WHERE TAB TITLE TAB TEXT, those of a page beside each other and its own title first.
# usage: awk -f index.awk FILE...
function quoted(s) {
    gsub(/[\\"]/, "\\\\&", s)
    gsub(/</, "\\u003c", s)
    return "\"" s "\""
}
BEGIN { FS = "\t"; printf "const bookSections = [" }
{
    page = $1
    sub(/#.*/, "", page)
    if (page != before) { before = page; of = $2 }
    printf "%s\n[%s,%s,%s]", (NR > 1 ? "," : ""), quoted($1), quoted($2), quoted(of)
    text = tolower($2 " " $3)
    gsub(/[^a-z0-9_]+/, " ", text)
    n = split(text, word, " ")
    for (i = 1; i <= n; i++) {
        w = word[i]
        # Numbers of reports and single letters find nothing that anybody looks for.
        if (length(w) < 2 || length(w) > 40 || w ~ /^[0-9]+$/ && length(w) > 4 || last[w] == NR) continue
        # From 0 on, and the first is its distance from 0.
        if (last[w]) list[w] = list[w] "," (NR - last[w])
        else list[w] = NR - 1
        last[w] = NR
    }
}
END {
    printf "\n];\nconst bookWords = {"
    for (w in list) printf "%s\n\"%s\":[%s]", (some++ ? "," : ""), w, list[w]
    print "\n};"
}
