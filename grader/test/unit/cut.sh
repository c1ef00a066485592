#!/bin/sh
# cut.sh: cut.awk takes good regions out and refuses bad ones.
status=0
try() {  # try WANT(0|1) NAME TEXT
    printf '%b' "$3" | awk -f grader/make/cut.awk >/dev/null 2>&1
    got=$?
    [ "$got" = "$1" ] || {
        echo "$2: exit $got, want $1"
        status=1
    }
}
begin='// BEGIN SOLUTION (about 2 lines): add\n'
end='// END SOLUTION\n'
try 0 "one region" "a\n$begin x\n${end}b\n"
try 0 "two regions" "$begin x\n$end$begin y\n$end"
try 0 "one line" "// BEGIN SOLUTION (about 1 line): add\n x\n$end"
try 1 "no region" "a\nb\n"
try 1 "nested" "$begin$begin$end$end"
try 1 "unclosed" "a\n$begin x\n"
try 1 "end without begin" "a\n$end"
try 1 "no line count" "// BEGIN SOLUTION: add\n x\n$end"
try 1 "no text" "// BEGIN SOLUTION (about 2 lines):\n x\n$end"
try 1 "words after END" "$begin x\n// END SOLUTION here\n"
try 0 "something given" "$begin x\n// AS GIVEN\n// y\n$end"
try 1 "given outside of a region" "// AS GIVEN\n// y\n$begin x\n$end"
try 1 "given twice" "$begin x\n// AS GIVEN\n// y\n// AS GIVEN\n// z\n$end"
try 1 "nothing given" "$begin x\n// AS GIVEN\n$end"
try 1 "given as code" "$begin x\n// AS GIVEN\ny\n$end"
try 0 "answers" "a = 1  // SOLUTION\nb = 2 / 3  // SOLUTION\n"
try 1 "no name" "= 1  // SOLUTION\n"
try 1 "no formula" "a =  // SOLUTION\n"
try 1 "an answer in a region" "$begin a = 1  // SOLUTION\n$end"
[ "$(printf 'a_1 = 2 = 3  // SOLUTION\n' | awk -f grader/make/cut.awk)" = "a_1 =" ] || {
    echo "an answer is not cut"
    status=1
}
stub=$(printf '%b' "    $begin    secret\n    // AS GIVEN\n    // b = 1;  // slow\n    ${end}" | awk -f grader/make/cut.awk)
[ "$stub" = '    // your code goes here (about 2 lines): add
    b = 1;  // slow' ] || {
    echo "the stub with something given is: $stub"
    status=1
}
stub=$(printf '%b' "int a;\n    $begin    secret\n    ${end}int b;\n" | awk -f grader/make/cut.awk)
want='int a;
    // your code goes here (about 2 lines): add
int b;'
[ "$stub" = "$want" ] || {
    echo "the stub is: $stub"
    status=1
}
exit $status
