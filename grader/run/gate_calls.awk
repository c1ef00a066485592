# gate_calls.awk: a gate in front of each function of the runtime that a header declares. Kernels do
# not call them, and what they write belongs to who calls.
# usage: awk -f gate_calls.awk HEADER...          C
#        awk -v names=1 -f gate_calls.awk HEADER...   the functions' names
# A declaration begins a line with "cudaError_t " or "const char* " and ends with ";".

function gate(all,    name, list, count, parameter, i, word, words, body) {
    name = all
    sub(/\(.*/, "", name)
    sub(/.*[ *]/, "", name)
    if (names) {
        print name
        return
    }
    list = all
    sub(/^[^(]*\(/, "", list)
    sub(/\);$/, "", list)
    body = ""
    words = ""
    count = list == "void" ? 0 : split(list, parameter, / *, */)
    for (i = 1; i <= count; i++) {
        word = parameter[i]
        sub(/.*[ *]/, "", word)
        words = words (i > 1 ? ", " : "") word
        if (parameter[i] == "void* dst")
            body = body "    gate_copy(\"" name "\", " (list ~ / src,/ ? "src, kind" : "symbol, cudaMemcpyDefault") ", dst, " \
                (list ~ / dst_pitch/ ? "height ? dst_pitch * (height - 1) + width_bytes : 0" : "bytes") ");\n"
        else if (parameter[i] ~ /[*]/ && parameter[i] !~ /^const / && parameter[i] !~ /^void[*] /)
            body = body "    gate_output(\"" name "\", " word ", sizeof *" word ");\n"
    }
    type = all
    sub(/ *cud[a-zA-Z0-9_]*\(.*/, "", type)
    print type " gate_" name "(" list ");"
    print type " gate_" name "(" list ") {"
    print "    gate_call(\"" name "\");"
    printf "%s    return %s(%s);\n}\n", body, name, words
}

!names && FNR == 1 {
    sub(/^grader\//, "", FILENAME)
    print "#include \"" FILENAME "\""
    if (NR == 1) print "#include \"run/gate.h\""
}
/^(cudaError_t|const char[*]) cud[a-zA-Z0-9_]*\(/ { held = "" }
held != "" || /^(cudaError_t|const char[*]) cud[a-zA-Z0-9_]*\(/ {
    sub(/ *\/\/.*/, "")
    sub(/^ +/, " ")
    held = held $0
    if (held !~ /;$/) next
    gsub(/ CUDEV_DEFAULT\([^)]*\)/, "", held)
    gate(held)
    held = ""
}
