# by_value.awk: accesses of a kernel that gcc does not announce (-fsanitize=thread), so that nobody
# would see them. It reads gcc's text of the program (-fdump-tree-tsan-lineno-uid-asmname), and
# before that its classes (-fdump-lang-class) and the object's symbols (objdump -t).
# Prints FILE:LINE of the first place where a kernel gives a structure to a call, or takes one from
# it, straight from or to memory. That does not happen where the called function became part of the
# caller. The file `beside` gets the first place where a kernel
# - uses a variable that gcc holds for constant and that lies where it can be changed, or that is
#   not of this file: then nobody knows where it ends;
# - takes a local or a constant variable for something much larger, or reaches far beside it.
# text: the preprocessed program
# usage: awk -v beside=FILE -v text=FILE -f by_value.awk kind=class CLASSES kind=symbol SYMBOLS \
#     kind= DUMP
# A function that the launcher alone calls is the host's, and may do all this.
# Each name in the dump ends with D. and a number that no other name has.

BEGIN {
    MOST = 262144               # bytes of local variables that a thread may have
    MOST_CONSTANT = 2 ^ 40      # from a constant to the device's memory it is farther
    MOST_ARRAY = 128 * 1048576  # of structures whose size is not known for sure
}

# ---- classes: how large they are

kind == "class" && /^Class / {
    name = substr($0, 7)
    while (sub(/<[^<>]*>/, "", name)) {}
    sub(/.*[^A-Za-z0-9_$]/, "", name)
    next
}
kind == "class" && /^   size=/ {
    bytes = substr($1, 6) + 0
    if (bytes > size[name]) size[name] = bytes
    if (bytes > largest && name !~ /^cudev/) largest = bytes
}
kind == "class" { next }

# ---- the object's symbols: where a variable lies

kind == "symbol" {
    if (split($0, half, "\t") != 2) next
    n = split(half[1], word, " ")
    name = half[2]
    sub(/^[0-9a-f]+ +([.][a-z]+ )?/, "", name)
    section[name] = word[n]
    if (word[n] ~ /^[.]rodata|_const$|^[.]data[.]rel[.]ro|^[.]text|^[*]ABS/) next
    if (name ~ /^(__tsan_|__ubsan_|__x86_|__cxa_|cuda[A-Z]|cudev)/ || name !~ /^[A-Za-z_]/) next
    changeable[name]
    names = names (names == "" ? "" : "|") name
    next
}
FNR == 1 && names != "" {
    names = "(" names ")D[.][0-9]"
    changing = "(^|[^A-Za-z0-9_$.&])" names
}

# ---- the program

# place_of(LINE): FILE:LINE of the statement
function place_of(line,    place) {
    if (!match(line, /\[[^][]*:[0-9]+:[0-9]+/)) {
        line = here
        match(line, /\[[^][]*:[0-9]+:[0-9]+/)
    }
    place = substr(line, RSTART + 1, RLENGTH - 1)
    sub(/:[0-9]+$/, "", place)
    return place == "" ? "a kernel" : place
}

# clean(LINE): without places and the words of texts
function clean(line) {
    gsub(/"([^"\\]|\\.)*"/, "\"\"", line)
    gsub(/\[[^][]*:[0-9]+:[0-9]+[^][]*\] /, "", line)
    return line
}

# uid_of(NAME): the number at its end
function uid_of(name) {
    return match(name, /D[.][0-9]+$/) ? substr(name, RSTART + 2) : ""
}

# Is this operand memory? Not an address, a text, a number, a variable of the function.
function is_memory(operand,    name) {
    if (operand ~ /^[&"]/) return 0
    if (operand ~ /^([*]|MEM|\()|\[|->/) return 1
    if (!match(operand, /^[A-Za-z_][A-Za-z0-9_$.]*D[.][0-9]+/)) return 0
    name = operand
    sub(/D[.][0-9].*/, "", name)
    return name in section && section[name] !~ /^([.]text|[*]UND)/
}

# Is one of the arguments?
function has_memory(list,    i, c, depth, begin) {
    begin = 1
    for (i = 1; i <= length(list) + 1; i++) {
        c = substr(list, i, 1)
        if (c ~ /[([{]/) depth++
        if (c ~ /[)}\]]/) depth--
        if (c != "" && (c != "," || depth > 0)) continue
        if (is_memory(substr(list, begin, i - begin))) return 1
        begin = i + 2
    }
    return 0
}

# split_call(LINE): of a clean statement that calls, its result, the called function and the
# arguments. These stand in the last brackets of the line, with a blank in front of them.
function split_call(line,    i, c, depth) {
    if (line !~ /^  .* \(.*\)( \[[^]]*\])*;$/) return 0
    sub(/( \[[^]]*\])*;$/, "", line)
    sub(/^ +/, "", line)
    for (i = length(line); i > 0; i--) {
        c = substr(line, i, 1)
        if (c == ")") depth++
        if (c == "(" && --depth == 0) break
    }
    if (i < 3 || substr(line, i - 1, 1) != " ") return 0
    list = substr(line, i + 1, length(line) - i - 1)
    callee = substr(line, 1, i - 2)
    result = ""
    if (match(callee, / =([{]v[}])? /)) {
        result = substr(callee, 1, RSTART - 1)
        callee = substr(callee, RSTART + RLENGTH)
    }
    return callee !~ /^(if|switch|return|goto)$/ && callee != ""
}

# elements(TYPE): the elements of an array of this type; 1 of any other
function elements(type,    n) {
    n = 1
    while (match(type, /\[[0-9]+\]/)) {
        n *= substr(type, RSTART + 1, RLENGTH - 2)
        type = substr(type, RSTART + RLENGTH)
    }
    return n
}

# is_small(NAME, MOST): a second name of a structure: is that one small, wherever the name is given?
function is_small(name, most,    line, word, n, small) {
    while ((getline line <text) > 0) {
        if (index(line, name) == 0 || line !~ /using|typedef/) continue
        if (!match(line, "using " name " = [A-Za-z0-9_]+ *;") &&
            !match(line, "typedef (const )?(struct |union )?[A-Za-z0-9_]+ " name ";")) continue
        line = substr(line, RSTART, RLENGTH)
        sub(" *" name ";$|[ ;]*$", "", line)
        n = split(line, word, " ")
        small = word[n] in size && size[word[n]] <= most
        if (!small) break
    }
    close(text)
    return small
}

# is_large(TYPE, MOST): are objects of the type larger, or may they be? A structure by a second name
# may be any of the file's.
function is_large(type, most,    n, bytes) {
    n = elements(type)
    if (type !~ /(struct|union) /) return n > most / 4
    sub(/.*(struct|union) /, "", type)
    sub(/D[.][0-9].*/, "", type)
    if (type ~ /^[.0-9]/) type = ""  # it has no name
    bytes = type in size ? size[type] : largest
    if (most == MOST && n * largest > MOST_ARRAY) return 1
    if (n * bytes <= most || (!(type in size) && n > 1 && largest <= most)) return 0
    return type in size || !is_small(type, most / n)
}

# reaches_far(LINE): is a local or constant variable, or a text, taken for something far larger
# than a thread's variables are, or is it left behind?
function reaches_far(line,    base, type, offset, most) {
    while (match(line, /\)&?(""|[A-Za-z_*0-9$.]*D[.][0-9]+)( [+] -?[0-9]+B?)?\]/)) {
        base = substr(line, RSTART + 1, RLENGTH - 2)
        type = substr(line, 1, RSTART - 1)
        line = substr(line, RSTART + RLENGTH)
        sub(/.*MEM/, "", type)
        if (type ~ /^ </) sub(/> .*/, "", type)  # MEM <TYPE> [(TYPE OF ITS NEIGHBOURS *)&x]
        offset = 0
        if (match(base, / [+] -?[0-9]+B?$/)) {
            offset = substr(base, RSTART + 3) + 0
            base = substr(base, 1, RSTART - 1)
        }
        sub(/^&/, "", base)
        most = uid_of(base) in is_local ? MOST : MOST_CONSTANT
        if (most == MOST_CONSTANT && is_changeable(base)) {
            if (index(announced, base) == 0) return 1
            continue
        }
        if (offset < -4096 || offset > most || is_large(type, most)) return 1
    }
    return 0
}

function is_changeable(name) {
    sub(/D[.][0-9]+$/, "", name)
    return name in changeable
}

# is_hidden(LINE): does the statement use one of the changeable variables, unannounced?
function is_hidden(line,    name) {
    gsub(/\([A-Za-z][^()]*[*&]\)/, "", line)  # types
    while (match(line, changing)) {
        name = substr(line, RSTART)
        line = substr(line, RSTART + RLENGTH - 1)
        sub(/^[^A-Za-z_]/, "", name)
        match(name, /D[.][0-9]+/)
        if (substr(name, RSTART + 2, RLENGTH - 2) in is_local) continue
        if (substr(name, RSTART + RLENGTH) ~ /^ [(*&]|^[)>*,]|^_[0-9]/) continue  # a call, a type
        if (name ~ /^(threadIdx|blockIdx|blockDim|gridDim)D[.][0-9]+[.][xyz]D/) continue
        name = substr(name, 1, RSTART + RLENGTH - 1)
        if (index(announced, name) == 0) return 1
    }
    return 0
}

/^;; Function / {
    shown = $0
    sub(/^;; Function /, "", shown)
    own = plain = shown
    sub(/ \([^ ]*, funcdef_no=.*/, "", shown)
    sub(/, funcdef_no=.*/, "", plain)
    sub(/.* \(/, "", plain)
    sub(/.*, decl_uid=/, "", own)
    sub(/,.*/, "", own)
    known[own]
    if (plain == shown) host[own]
    of_device = shown ~ /^cudev::/
    if (of_device) of_runtime[own]
    announced = held = here = ""
    begins = 1
    next
}
own == "" || /^  (\[[^]]*\] )?# (DEBUG|.* = PHI <)/ { next }

# The function's head and its variables
begins {
    if ($0 ~ /^  <bb /) begins = 0
    if ($0 ~ / _[0-9]+;$|^  (static|extern) / || !($0 ~ /;$/ || $0 ~ /\)$/)) next
    line = $0
    sub(/ = .*/, "", line)
    while (match(line, /D[.][0-9]+/)) {
        is_local[substr(line, RSTART + 2, RLENGTH - 2)]
        line = substr(line, RSTART + RLENGTH)
    }
    next
}

/ __tsan_[a-z_]+[0-9]*D[.]/ {
    announced = announced held $0
    held = ""
    next
}
/^ +_[0-9]+ = &/ {
    held = $0
    next
}
/^  \[/ { here = $0 }

(names != "" && $0 ~ names) || /\)(\[[^][]*\] )?(&|")/ {
    line = clean($0)
    if (!of_device && !(own in far) && ((names != "" && is_hidden(line)) || reaches_far(line))) {
        far[own] = place_of($0)
        found = 1
    }
}

/ \(.*\)( \[[^]]*\])*;$/ && split_call(clean($0)) {
    uid = uid_of(callee)
    if (uid != "") calls[own] = calls[own] SUBSEP uid
    else if (!of_device && callee !~ /^[.]/) by_pointer = 1
    if (!of_device && (is_memory(result) || has_memory(list)) && !(own in where)) {
        where[own] = place_of($0)
        found = 1
    }
}
{ announced = held = "" }

# mention(LINE): the functions that it names without calling them. Nobody knows their callers.
function mention(line) {
    line = clean(line)
    if (split_call(line)) line = result " " list
    while (match(line, /D[.][0-9]+/)) {
        mentioned[substr(line, RSTART + 2, RLENGTH - 2)]
        line = substr(line, RSTART + RLENGTH)
    }
}

END {
    if (!found) exit
    while ((getline line <FILENAME) > 0)
        if (line ~ /^  / && line ~ /D[.][0-9]/) mention(line)  # not where a function begins
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
    # Kernels are mentioned where the runtime runs them. A function that nobody calls or mentions
    # has become part of its callers, unless there are tables of functions.
    last = 0
    for (own in known)
        if (own in mentioned || (!(own in host) && (by_pointer || own in of_runtime)))
            todo[++last] = own
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
            break
        }
    for (own in far)
        if (own in device) {
            print far[own] >beside
            break
        }
}
