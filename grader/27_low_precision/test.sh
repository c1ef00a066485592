#!/bin/sh
# test.sh: the table of number formats that lesson 27's text has is the one that formats.sh prints.
# usage: test.sh
. grader/test/tell.sh
out=build/test/27_formats
mkdir -p $out
of_text() {
    awk '/^<!-- formats -->$/ { on = 1; next } /^<!-- \/formats -->$/ { on = 0 } on' lessons/27_low_precision/README.md
}
same_table() {
    of_text >$out/text && sh grader/27_low_precision/formats.sh >$out/printed && diff $out/text $out/printed
}
expect "27: the text's table of formats is what formats.sh prints" same_table
finish
