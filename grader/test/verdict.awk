# verdict.awk: a result (JSON as report/result.c writes it) in one line:
#     SCORE MAX ERRORS CAUSE,CAUSE... ITEM|ITEM...
# with the causes and names of the items that failed; "-" for none.
function text(line) {
    sub(/^[^:]*: "/, "", line)
    sub(/",?$/, "", line)
    return line
}
/^  "score":/ { score = $2 + 0 }
/^  "max_score":/ { max = $2 + 0 }
/^      "name":/ { name = text($0) }
/^      "outcome":/ { outcome = text($0) }
/^      "cause":/ {
    if (outcome == "error") errors++
    if (outcome != "pass") {
        cause = text($0)
        if (!(cause in seen)) {
            seen[cause] = 1
            causes = causes (causes ? "," : "") (cause ? cause : "?")
        }
        items = items (items ? "|" : "") name
    }
}
END { printf "%d %d %d %s %s\n", score, max, errors, causes ? causes : "-", items ? items : "-" }
