# given.awk: an exercise as a C string, for a check that compares what is handed in with what was
# given (check/edits.h). usage: awk -f given.awk EXERCISE >given.h
{
    line[NR] = $0
}
END {
    print "// given.h: the exercise as it is given. Cut by `make exercises`; not to be edited."
    print "// clang-format off"
    print "static const char given[] ="
    for (n = 1; n <= NR; n++) {
        gsub(/\\/, "\\\\", line[n])
        gsub(/"/, "\\\"", line[n])
        gsub(/\?/, "\\?", line[n])
        print "    \"" line[n] "\\n\"" (n == NR ? ";" : "")
    }
}
