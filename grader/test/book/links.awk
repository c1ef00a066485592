# links.awk: the links of the book's pages: a file that is not there, a place that a page does not
# have, an address that a page would fetch from outside. A line for each.
# usage: awk -f links.awk FILES PAGE.html...    from the book's folder; FILES: the list of its files
NR == FNR { there[$0]; next }
FNR == 1 { folder = FILENAME; if (!sub(/[^\/]*$/, "", folder)) folder = "" }
{
    line = $0
    while (match(line, / (id|href|src)="[^"]*"/)) {
        attribute = substr(line, RSTART + 1, RLENGTH - 1)
        line = substr(line, RSTART + RLENGTH)
        value = attribute
        sub(/^[a-z]*="/, "", value)
        sub(/"$/, "", value)
        if (attribute ~ /^id=/) {
            if ((FILENAME, value) in id) print FILENAME ": #" value " is there twice"
            id[FILENAME, value]
        } else if (value ~ /^(https?:)?\/\//) {
            if (attribute ~ /^src=/ || $0 ~ /<link/) print FILENAME ": " value " would be fetched"
        } else if (value !~ /^(mailto|data):/) {
            from[++n] = FILENAME
            to[n] = value
            base[n] = folder
        }
    }
}
END {
    for (i = 1; i <= n; i++) {
        path = place = to[i]
        if (!sub(/^[^#]*#/, "", place)) place = ""
        sub(/#.*/, "", path)
        path = path == "" ? from[i] : base[i] path
        while (sub(/[^\/]+\/\.\.\//, "", path)) {}
        if (!(path in there)) print from[i] ": " to[i] " is not there"
        else if (place != "" && path ~ /\.html$/ && path !~ /^slides\// && !((path, place) in id))
            print from[i] ": " to[i] ": no such place"
    }
    print n " links"
}
