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
broken='    // BEGIN BROKEN\n'
mended='    // MENDED\n'
whole='    // END BROKEN\n'
try 0 "a broken region" "a\n$broken    // x\n$mended    y\n${whole}b\n"
try 0 "nothing broken" "$broken$mended    y\n$whole"
try 0 "nothing mended" "$broken    // x\n$mended$whole"
try 0 "both kinds" "$broken    // x\n$mended    y\n$whole$begin x\n$end"
try 1 "neither broken nor mended" "$broken$mended$whole"
try 1 "nothing tells broken from mended" "$broken    // x\n$whole"
try 1 "mended twice" "$broken    // x\n$mended    y\n$mended    z\n$whole"
try 1 "mended without a region" "a\n$mended    y\n"
try 1 "mended in a gap" "$begin$mended$end"
try 1 "broken in broken" "$broken$broken$mended    y\n$whole$whole"
try 1 "broken in a gap" "$begin$broken    // x\n$mended    y\n$whole$end"
try 1 "a gap in what is mended" "$broken    // x\n$mended$begin    y\n$end$whole"
try 1 "a broken region that is unclosed" "$broken    // x\n$mended    y\n"
try 1 "closed as a gap" "$broken    // x\n$mended    y\n$end"
try 1 "a gap closed as broken" "$begin x\n$whole"
try 1 "closed before it begins" "a\n$whole"
try 1 "a broken line that is code" "$broken    x\n$mended    y\n$whole"
try 1 "a broken line that ends in a blank" "$broken    // x \n$mended    y\n$whole"
try 1 "words behind BEGIN" "    // BEGIN BROKEN here\n    // x\n$mended    y\n$whole"
try 1 "words behind MENDED" "$broken    // x\n    // MENDED here\n    y\n$whole"
try 1 "words behind END" "$broken    // x\n$mended    y\n    // END BROKEN here\n"
stub=$(printf '%b' "int a;\n$broken    // int b = 1;  // one\n    //\n    //     b++;\n$mended    int b = 2;\n${whole}c;\n" |
    awk -f grader/make/cut.awk)
want='int a;
    int b = 1;  // one

        b++;
c;'
[ "$stub" = "$want" ] || {
    echo "a broken stub is: $stub"
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
