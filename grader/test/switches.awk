# switches.awk: prints each #define that stands in front of an #include and is read by a header that
# it includes: such a header means something else in each file. It also prints each #include of a
# macro. What a command line defines (-D) holds for a whole program, and is no such thing.
# usage: switches.awk FILE...

# The file of ours that an #include of `name` in `file` means, or "".
function included(file, name, folder, lesson, from, n, i, to) {
    folder = lesson = file
    sub(/\/[^\/]*$/, "", folder)
    split(file, from, "/")
    lesson = from[2]
    n = split(folder "/ grader/ lessons/ lessons/" lesson "/ grader/cpu/include/", from, " ")
    for (i = 1; i <= n; i++) {
        to = from[i] name
        while (sub(/\/[^\/]+\/\.\.\//, "/", to)) {}
        if ((to in given) && to != file) return to
    }
    return ""
}

# The name behind `word` ("define") in this line, or "".
function named(word, name) {
    if (!match($0, "^ *# *" word " +[A-Za-z_][A-Za-z_0-9]*")) return ""
    name = substr($0, RSTART, RLENGTH)
    sub(/.* /, "", name)
    return name
}

# The header that reads `name`: `file`, or one that it includes. `from` itself may.
function reader(file, name, from, to, n, i, found) {
    if (file == from || (file in seen)) return ""
    seen[file] = 1
    if ((file, name) in uses) return file
    n = split(includes[file], to, " ")
    for (i = 1; i <= n; i++) if ((found = reader(to[i], name, from)) != "") return found
    return ""
}

BEGIN { for (i = 1; i < ARGC; i++) given[ARGV[i]] = 1 }
FNR == 1 { split("", line); guard = "" }
guard == "" && named("ifndef") != "" { guard = named("ifndef") }
named("define") != "" && named("define") != guard { line[named("define")] = FNR }
named("undef") != "" { delete line[named("undef")] }
match($0, /^ *# *include(_next)? *["<][^">]*/) {
    name = substr($0, RSTART, RLENGTH)
    sub(/.*["<]/, "", name)
    to = included(FILENAME, name)
    if (to != "") {
        includes[FILENAME] = includes[FILENAME] " " to
        for (name in line) { file[++n] = FILENAME; where[n] = line[name]; word[n] = name; target[n] = to }
    }
}
/^ *# *include +[A-Za-z_]/ { print FILENAME ":" FNR ": includes what a macro says" }
{
    sub(/\/\/.*/, "")
    k = split($0, part, /[^A-Za-z_0-9]+/)
    for (i = 1; i <= k; i++) uses[FILENAME, part[i]] = 1
}
END {
    for (i = 1; i <= n; i++) {
        split("", seen)
        found = reader(target[i], word[i], file[i])
        said = file[i] ":" where[i] ": " word[i] " is read by " found
        if (found != "" && !told[said]++) print said
    }
}
