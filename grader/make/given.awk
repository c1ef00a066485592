# given.awk: an exercise as a C string, for a check that compares what is handed in with what was
# given (check/edits.h). usage: awk -f given.awk EXERCISE >given.h

# A piece of a line as it stands in a string.
function quoted(piece,    text, c, i) {
    for (i = 1; i <= length(piece); i++) {
        c = substr(piece, i, 1)
        text = text (c == "\"" || c == "\\" ? "\\" : "") c
    }
    return text
}
NR == 1 {
    print "// given.h: the exercise as it is given. Cut by `make exercises`; not to be edited."
    print "// clang-format off"
    print "static const char given[] ="
}
NR > 1 { print "\\n\"" }
{
    if (length($0) > 60) {
        print "\"" quoted(substr($0, 1, 60)) "\""
        $0 = substr($0, 61)
    }
    printf "\"%s", quoted($0)
}
END { print "\\n\";" }
