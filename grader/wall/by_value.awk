# by_value.awk: where a kernel gives a structure to a call, or takes one from it, straight from or
# to memory: gcc announces no such access (-fsanitize=thread), so nobody would see it. It does not
# happen where the called function became part of the caller. Reads gcc's text of the program
# (-fdump-tree-tsan-lineno); prints FILE:LINE of the first place. usage: awk -f by_value.awk DUMP A
# function that the launcher alone calls is the host's, and may do so.

# Is this operand memory? Not an address, a text, a number, a variable of the function.
function is_memory(operand) {
    return operand !~ /^[&"]/ && operand ~ /^([*]|MEM|\()|\[/
}

# Is one of the arguments?
function has_memory(list,    i, c, depth, begin, quoted) {
    begin = 1
    for (i = 1; i <= length(list) + 1; i++) {
        c = substr(list, i, 1)
        if (c == "\"" && substr(list, i - 1, 1) != "\\") quoted = !quoted
        if (quoted) continue
        if (c ~ /[([{]/) depth++
        if (c ~ /[)}\]]/) depth--
        if (c != "" && (c != "," || depth > 0)) continue
        if (is_memory(substr(list, begin, i - begin))) return 1
        begin = i + 2
    }
    return 0
}

/^;; Function / {
    own = $0
    sub(/^;; Function /, "", own)
    plain = own
    sub(/ \([^ ]*, funcdef_no=.*/, "", own)
    sub(/.* \(/, "", plain)
    sub(/, funcdef_no=.*/, "", plain)
    known[own]
    if (plain == own) host[own]
    next
}
own == "" { next }
# split_call(LINE): of a statement that calls, its result, the called function and the arguments.
function split_call(line,    at) {
    gsub(/\[[^][]*:[0-9]+:[0-9]+[^][]*\] /, "", line)
    if (line !~ /^  [^(]*[^ (] \(.*\)( \[[^]]*\])?;$/ && line !~ / = [^ (]+ \(.*\)( \[[^]]*\])?;$/) return 0
    sub(/^ +/, "", line)
    result = ""
    if ((at = index(line, " = ")) > 0) {
        result = substr(line, 1, at - 1)
        line = substr(line, at + 3)
    }
    at = index(line, " (")
    list = substr(line, at + 2)
    callee = substr(line, 1, at - 1)
    sub(/\)( \[[^]]*\])?;$/, "", list)
    return callee !~ /^(if|switch|return|goto)$|^__builtin___tsan|[ *&?]/
}

/ \(.*\)( \[[^]]*\])?;$/ && split_call($0) {
    calls[own] = calls[own] SUBSEP callee
    if (own ~ /^cudev::/ || !(is_memory(result) || has_memory(list)) || own in where) next
    match($0, /\[[^][]*:[0-9]+:[0-9]+/)
    where[own] = substr($0, RSTART + 1, RLENGTH - 1)
    sub(/:[0-9]+$/, "", where[own])
    found = 1
}

# mention(LINE): the functions that it names without calling them. Who knows who calls these?
function mention(line,    n, i, word) {
    if (split_call(line)) line = result " " list
    n = split(line, word, /[^A-Za-z0-9_:<>~]+/)
    for (i = 1; i <= n; i++) mentioned[word[i]]
}

END {
    if (!found) exit
    while ((getline line <FILENAME) > 0)
        if (line ~ /^  /) mention(line)  # not where a function begins
    # what the launcher calls, and what that calls, is the host's
    for (own in host) todo[++last] = own
    for (i = 1; i <= last; i++) {
        n = split(calls[todo[i]], called, SUBSEP)
        for (k = 1; k <= n; k++)
            if (called[k] in known && !(called[k] in host)) {
                host[called[k]]
                todo[++last] = called[k]
            }
    }
    last = 0
    for (own in known)
        if (!(own in host) || own in mentioned) todo[++last] = own
    for (i = 1; i <= last; i++) device[todo[i]]
    for (i = 1; i <= last; i++) {
        n = split(calls[todo[i]], called, SUBSEP)
        for (k = 1; k <= n; k++)
            if (called[k] in known && !(called[k] in device)) {
                device[called[k]]
                todo[++last] = called[k]
            }
    }
    for (own in where)
        if (own in device) {
            print where[own]
            exit
        }
}
