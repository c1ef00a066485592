# sources.awk: the sources that a lesson's check, call and device are made of, as paths from the top
# of the course. Reads the dependency files that make writes. All names in the files before rooms=1
# count. The files behind rooms=1 are of the folders that make up libgrader.a: they count if
# something in their folder counts.
# usage: awk -f sources.awk X.d... rooms=1 Y.d... | LC_ALL=C sort
function folder(path) {
    sub("/[^/]*$", "", path)
    return path
}
function add(source) {
    while (sub("/[^/]+/[.][.]/", "/", source)) {
    }
    if (source in counts) return
    counts[source]
    print source
    if (!(folder(source) in reached)) {
        reached[folder(source)]
        queue[++queued] = folder(source)
    }
}
# build/grader/x.o: grader/x.c grader/y.h \
FNR == 1 { room = folder($2) }
{
    for (i = 1; i <= NF; i++) {
        if ($i ~ /:$/ || $i ~ /^\// || $i == "\\") continue
        # what a script has made counts as the script
        if (sub(/^build\/([a-z]+\/)?grader\//, "grader/", $i)) sub(/[.]c$/, ".awk", $i)
        if (rooms) of[room] = of[room] " " $i
        else add($i)
    }
}
END {
    for (n = 1; n <= queued; n++) {
        count = split(of[queue[n]], source, " ")
        for (i = 1; i <= count; i++) add(source[i])
    }
}
