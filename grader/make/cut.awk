# cut.awk: the stub of a solution: every region becomes one line.
#
#     // BEGIN SOLUTION (about 5 lines): fold x[j] into (m, l)
#     ...
#     // END SOLUTION
# becomes
#     // your code goes here (about 5 lines): fold x[j] into (m, l)
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
/END SOLUTION/ {
    if (!open) fail("END SOLUTION without a BEGIN SOLUTION")
    if ($0 !~ /^ *\/\/ END SOLUTION$/) fail("write: // END SOLUTION")
    open = 0
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
!open { print }
END {
    if (failed) exit 1
    if (open) fail("the region that began at line " open " is never closed")
    if (!regions) fail("no region: nothing would be left to write")
}
