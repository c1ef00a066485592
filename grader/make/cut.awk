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
# In a text of answers, a line
#     name = formula  // SOLUTION
# becomes
#     name =
#
# A file without either, or with a malformed, nested or unclosed one, is an error: exit 1.

function fail(message) {
    print FILENAME ":" FNR ": " message > "/dev/stderr"
    failed = 1
    exit 1
}

/BEGIN SOLUTION/ {
    if (open) fail("BEGIN SOLUTION inside the region that began at line " open)
    if ($0 !~ /^ *\/\/ BEGIN SOLUTION \(about [0-9]+ lines?\): [^ ]/)
        fail("write: // BEGIN SOLUTION (about N lines): what to do")
    sub(/BEGIN SOLUTION/, "your code goes here")
    print
    open = FNR
    regions++
    next
}
/\/\/ AS GIVEN$/ {
    if (!open || given) fail("AS GIVEN belongs into a region, once")
    given = FNR
    next
}
/END SOLUTION/ {
    if (!open) fail("END SOLUTION without a BEGIN SOLUTION")
    if ($0 !~ /^ *\/\/ END SOLUTION$/) fail("write: // END SOLUTION")
    if (given == FNR - 1) fail("nothing is given behind AS GIVEN")
    open = given = 0
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
}
!open { print }
END {
    if (failed) exit 1
    if (open) fail("the region that began at line " open " is never closed")
    if (!regions) fail("no region: nothing would be left to write")
}
