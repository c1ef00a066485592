# picture.awk: what a terminal shows as an SVG: lines of text with the colours that the report uses
# (31 red, 32 green, 33 yellow, 1 bold). -v command="make grade": the line above it.
function escaped(text) {
    gsub(/&/, "\\&amp;", text)
    gsub(/</, "\\&lt;", text)
    gsub(/>/, "\\&gt;", text)
    return text
}
function piece(text) { # a run of characters of one look
    if (text == "") return ""
    return "<tspan" (look == "" ? "" : " class=\"" look "\"") ">" escaped(text) "</tspan>"
}
function draw(line,   text, code) {
    text = ""
    look = ""
    while (match(line, /\033\[[0-9;]*m/)) {
        text = text piece(substr(line, 1, RSTART - 1))
        code = substr(line, RSTART + 2, RLENGTH - 3)
        line = substr(line, RSTART + RLENGTH)
        look = code == 31 ? "red" : code == 32 ? "green" : code == 33 ? "yellow" : code == 1 ? "bold" : ""
    }
    return text piece(line)
}
BEGIN {
    lines[++n] = "$ " command
    height = 19 # pixels a line
    width = 8.45
}
{
    sub(/\r$/, "")
    lines[++n] = $0
    plain = $0
    gsub(/\033\[[0-9;]*m/, "", plain)
    if (length(plain) > widest) widest = length(plain)
}
END {
    printf "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" role=\"img\" font-family=\"DejaVu Sans Mono, Menlo, Consolas, monospace\" font-size=\"14\">\n", widest * width + 40, n * height + 36
    print "<title>" escaped(command) "</title>"
    print "<style>text { fill: #e6e6e6; white-space: pre } .red { fill: #ff8a70; font-weight: bold } .green { fill: #7fd99a } .yellow { fill: #f0d060 } .bold { font-weight: bold }</style>"
    print "<rect width=\"100%\" height=\"100%\" rx=\"8\" fill=\"#1d2330\"/>"
    for (i = 1; i <= n; i++)
        printf "<text x=\"20\" y=\"%d\" xml:space=\"preserve\">%s</text>\n", 14 + i * height, draw(lines[i])
    print "</svg>"
}
