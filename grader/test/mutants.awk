# mutants.awk: what one slip makes of a .cu file: a line for each mutant, of its line's number, the
# kind of slip, and the line as it becomes, with tabs between. Comments, #include lines and strings
# stay. usage: awk -f mutants.awk FILE

# The line with `new` in the place of `width` characters from `at` on.
function put(slip, at, width, new,   line) {
    line = substr(code, 1, at - 1) new substr(code, at + width)
    if (line == code || (NR, line) in made || in_string(at)) return
    made[NR, line]
    print NR "\t" slip "\t" line comment
}

function in_string(at,   ahead) {
    ahead = substr(code, 1, at - 1)
    return gsub(/"/, "", ahead) % 2
}

# Every place where the expression matches.
function each(slip, expression, new,   at) {
    for (at = 1; match(substr(code, at), expression); at += RSTART + RLENGTH - 1)
        put(slip, at + RSTART - 1, RLENGTH, new)
}

# Every word that is `word`, or a number that is it.
function each_word(slip, word, new,   at, width, n) {
    width = length(word)
    for (at = 1; (n = index(substr(code, at), word)) > 0; at += width) {
        at += n - 1
        if (substr(" " code, at, 1) substr(code " ", at + width, 1) !~ /[A-Za-z0-9_.]/) put(slip, at, width, new)
    }
}

# Where the operand of && or || ends whose next character is at `at`: read to the right (step 1) or
# to the left (step -1).
function operand_end(at, step,   c, depth) {
    for (; at >= 1 && at <= length(code); at += step) {
        c = substr(code, at, 1)
        if (index(step > 0 ? "([" : ")]", c))
            depth++
        else if (index(step > 0 ? ")]" : "([", c)) {
            if (depth-- == 0) break
        } else if (depth == 0 && (index(";?,&|", c) || substr(code, at - 1, 3) ~ /[^=<>!]=[^=]/))
            break
    }
    return at
}

# A && B becomes A, and B.
function drop_operands(   at, end, begin) {
    for (at = 2; at < length(code); at++) {
        if (substr(code, at, 4) !~ /^ (&&|[|][|]) $/) continue
        end = operand_end(at + 4, 1)
        put("right operand dropped", at, end - at, end > length(code) ? "" : substr(code, end - 1, 1) == " " ? " " : "")
        begin = operand_end(at - 1, -1) + 1
        put("left operand dropped", begin, at + 4 - begin, substr(code, begin, 1) == " " ? " " : "")
    }
}

# if (A) becomes if (0), and if (1).
function decide(   at, depth, end, c) {
    if (!match(code, /^ *(} else |else )?if \(/)) return
    at = RSTART + RLENGTH
    for (end = at; end <= length(code); end++) {
        c = substr(code, end, 1)
        if (c == "(") depth++
        if (c == ")" && depth-- == 0) break
    }
    if (end > length(code)) return
    put("never", at, end - at, "0")
    put("always", at, end - at, "1")
}

# A whole statement that declares nothing and decides nothing is left away.
function leave_away() {
    if (code !~ /; *$/ || before !~ /([;{}:)]|^|else) *$/ || gsub(/\(/, "(", code) != gsub(/\)/, ")", code)) return
    if (code ~ /^ *(return|using|typedef|enum|template|case|default|extern|#|static|const|struct|unsigned|int|float|double|bool|char|half|bf16|fp16|u?int[0-9]+_t|size_t|__shared__)/)
        return
    match(code, /^ */)
    put("left away", RLENGTH + 1, length(code) - RLENGTH, ";")
}

BEGIN {
    split("N_q N_k M N N K M K q k row col row column rows cols rows columns i j x y B H Q K K V O Q H_q H_k BLOCK_Q BLOCK_K " \
        "lane warp head batch b h first last from to begin end dK dV dQ dK dO O l m min max", word, " ")
    for (w = 1; w in word; w += 2) {
        other[word[w]] = other[word[w]] " " word[w + 1]
        other[word[w + 1]] = other[word[w + 1]] " " word[w]
    }
}

/^ *\/\*/ { remark = 1 }
remark { remark = !/\*\//; next }
/^ *(\/\/|#include|$)/ || /^[{};]*$/ { next }
{
    at = match($0, / *\/\/.*/) ? RSTART : length($0) + 1
    code = substr($0, 1, at - 1)
    comment = substr($0, at)

    each("< is <=", " < ", " <= ")
    each("<= is <", " <= ", " < ")
    each("> is >=", " > ", " >= ")
    each(">= is >", " >= ", " > ")
    each("+ is -", " [+] ", " - ")
    each("- is +", " - ", " + ")
    each("one less", " [+] 1", "")
    each("one more", " - 1", "")
    each("and is or", " && ", " || ")
    each("or is and", " [|][|] ", " && ")
    each("no remainder", " % [A-Za-z0-9_]+", "")
    each("another stream", ", stream>>>", ", 0>>>")
    each("a finite number", "-INFINITY", "-1e30f")
    each_word("32 bits", "int64_t", "int")
    each_word("32 bits", "size_t", "int")
    each("32 bits", "[(](int64_t|size_t)[)]", "")
    each_word("1 for 0", "0.0f", "1.0f")
    each_word("2 for 1", "1.0f", "2.0f")
    each_word("the largest", "fminf", "fmaxf")
    each_word("the smallest", "fmaxf", "fminf")
    number = code
    while (match(number, /[0-9]+/)) {
        n = substr(number, RSTART, RLENGTH)
        number = substr(number, RSTART + RLENGTH)
        each_word("a number", n, n + 1)
        if (n > 1) each_word("a number", n, int(n / 2))
    }
    for (w in other)
        for (n = split(other[w], partner, " "); n > 0; n--) each_word("mixed up", w, partner[n])
    drop_operands()
    decide()
    leave_away()
    before = code
}
