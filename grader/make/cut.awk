# cut.awk: the stub of a solution: every region becomes one line.
#
#     // BEGIN SOLUTION (about 5 lines): fold x[j] into (m, l)
#     ...
#     // END SOLUTION
# becomes
#     // your code goes here (about 5 lines): fold x[j] into (m, l)
#
# Where something stands that is to be mended, the region ends with it, as a comment, and the stub
# has it behind that line as code:
#     ...
#     // AS GIVEN
#     // m = x[j];
#     // END SOLUTION
#
# Where a mistake is to be found, the stub gets the broken lines in place of the mended ones. They
# stand in comments; either part may be empty:
#     // BEGIN BROKEN
#     // float l = 1.0f;
#     // MENDED
#     float l = 0.0f;
#     // END BROKEN
# becomes
#     float l = 1.0f;
#
# In a text of answers, a line
#     name = formula  // SOLUTION
# becomes
#     name =
#
# A file without any of them, or with a malformed, nested or unclosed one, is an error: exit 1.

function fail(message) {
    print FILENAME ":" FNR ": " message > "/dev/stderr"
    failed = 1
    exit 1
}

# begin(): is there no region yet?
function begin(what) {
    if (open) fail("BEGIN " what " inside the region that began at line " open)
    open = began = FNR
    kind = what
    regions++
}
function end(what) {
    if (!open || kind != what) fail("END " what " without a BEGIN " what)
    if ($0 !~ "^ *// END " what "$") fail("write: // END " what)
    open = 0
}

/BEGIN SOLUTION/ {
    begin("SOLUTION")
    if ($0 !~ /^ *\/\/ BEGIN SOLUTION \(about [0-9]+ lines?\): [^ ]/)
        fail("write: // BEGIN SOLUTION (about N lines): what to do")
    sub(/BEGIN SOLUTION/, "your code goes here")
    print
    next
}
/\/\/ AS GIVEN$/ {
    if (!open || kind != "SOLUTION" || given) fail("AS GIVEN belongs into a region, once")
    given = FNR
    next
}
/END SOLUTION/ {
    end("SOLUTION")
    if (given == FNR - 1) fail("nothing is given behind AS GIVEN")
    given = 0
    next
}
/BEGIN BROKEN/ {
    begin("BROKEN")
    if ($0 !~ /^ *\/\/ BEGIN BROKEN$/) fail("write: // BEGIN BROKEN")
    mended = lines = 0
    next
}
/^ *\/\/ MENDED/ {
    if (!open || kind != "BROKEN" || mended) fail("MENDED without a BEGIN BROKEN")
    if ($0 !~ /^ *\/\/ MENDED$/) fail("write: // MENDED")
    mended = FNR
    next
}
/END BROKEN/ {
    end("BROKEN")
    if (!mended) fail("the region that began at line " began " has no line: // MENDED")
    if (!lines) fail("nothing is broken in this region, and nothing mended")
    next
}
/\/\/ SOLUTION$/ {
    if (open) fail("SOLUTION inside the region that began at line " open)
    if ($0 !~ /^[a-z0-9_]+ = [^ ].*  \/\/ SOLUTION$/) fail("write: name = formula  // SOLUTION")
    sub(/ = .*/, " =")
    print
    regions++
    next
}
given {
    if ($0 !~ /^ *\/\/( |$)/) fail("what is given is a comment")
    sub(/\/\/ ?/, "")
    print
    next
}
open && kind == "BROKEN" {
    lines++
    if (mended) next
    if ($0 !~ /^ *\/\/( .*[^ ])?$/) fail("a broken line stands in a comment: // line")
    sub(/\/\/ ?/, "")
    sub(/^ +$/, "")
    print
    next
}
!open { print }
END {
    if (failed) exit 1
    if (open) fail("the region that began at line " open " is never closed")
    if (!regions) fail("no region: nothing would be left to write")
}
