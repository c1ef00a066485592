#!/bin/sh
# corpus.sh: the inputs that make fuzz begins with, made of the repository's own files: kernels,
# exploits, results, answers, and archives and tables written here. A folder for each program of
# this folder.
# usage: corpus.sh FOLDER      (the repository's root is the current directory; make ready has run)
out=$1
build=build${BUILD:+/$BUILD}
for harness in grader/test/fuzz/*.c; do
    mkdir -p "$out/$(basename "$harness" .c)" || exit 2
done
work=$(mktemp -d) || exit 2
trap 'rm -rf "$work"' EXIT
# keep FUZZER: standard input as one more input, called like libFuzzer calls it.
keep() {
    cat >"$work/input" && cp "$work/input" "$out/$1/$(sha1sum "$work/input" | cut -c 1-40)"
}

# Kernels, right, wrong and refused.
for file in solutions/*/*.cu solutions/*/steps/*.cu grader/*/right/*.cu grader/*/wrong/*.cu \
    grader/test/exploits/*.cu grader/cpu/test/*.cu grader/cpu/test/*/*.cu; do
    [ ! -e "$file" ] || echo "$file"
done >"$work/kernels"
xargs cp --parents -t "$out/rewrite" <"$work/kernels"
xargs awk -v out="$out/text/kernel_" '
    FNR == 1 { close(to); to = out (++n); print "x.cu\n# 1 \"x.cu\"" >to }
    { print >to }' <"$work/kernels"
# Once found: braces that do not match, so that an array is declared behind its function.
printf '__global__ void k(int* p) {\n    float d[2] = {0, f(}}, e[2];\n}\n' | keep rewrite
printf 'x.cu\n# 1 "x.cu"\nint a;\n\000# 7 "/usr/x.h"\nint b;\n# 1 "x.cu" 2\nint c;\n' | keep text
long=$(printf "%0600d" 1)
printf "%s\n# 1 \"%s\"\nasm(0);\n" "$long" "$long" | keep text

# What a compile leaves: the first byte is the file's place in the list of inspect.c.
as_file() { # as_file OCTAL FILE
    { printf '%b' "\\0$1" && cat "$2"; } | keep inspect
}
# shellcheck disable=SC2046  # the flags are words
for file in solutions/01_vector_add/vector_add.cu grader/test/exploits/constructor.cu \
    grader/test/exploits/overrides_exp.cu; do
    "$build/cpu/rewrite" "$file" "$work/x.cpp" x.cu &&
        (cd "$work" && root=$OLDPWD && g++ $(cat "$root/grader/cpu/cxxflags") "-I$root/lessons" \
            "-I$root/lessons/01_vector_add" \
            "-I$root/lessons/05_tiled_matmul" "-I$root/grader/cpu/include" -MD -MF deps -S x.cpp -o unit.s &&
            g++ -c unit.s -o unit.o && nm -P -l unit.o >symbols && readelf -SW unit.o >sections) || exit 2
    as_file 0 "$work/x.cpp" && as_file 2 "$work/unit.s" && as_file 3 "$work/deps"
    as_file 4 "$work/symbols" && as_file 5 "$work/symbols" && as_file 6 "$work/sections"
done

# Results: full marks, the stub, what does not compile.
echo 'int f( {' >"$work/broken.cu"
check=$build/grader/01_vector_add/check
for file in solutions/01_vector_add/vector_add.cu exercises/01_vector_add/vector_add.cu "$work/broken.cu"; do
    "$check" "$file" --format json --device cpu --seed 7 | keep result
done

# Files that are compared with what was given.
for file in exercises/22_*/bug_hunt.cu solutions/22_*/bug_hunt.cu grader/22_*/right/*.cu; do
    keep edits <"$file"
done
printf 'int a;\nname_of_x = SOME,  // why\n// ---- 1 f\nint f() {\n}\n// ---- 2\nmore\n' | keep edits

# Answers: whole files, and each line with a formula.
for file in solutions/21_*/answers.txt exercises/21_*/answers.txt grader/21_*/right/*.txt; do
    keep formula <"$file"
done
sed -n 's/^[a-z_]* = //p' solutions/21_*/answers.txt | while read -r formula; do
    printf 'answer = %s\n' "$formula" | keep formula
    printf '%s' "$formula" | keep formula
done

# Archives: of each kind, with a folder, a link, an empty file and a name that is no UTF-8.
mkdir -p "$work/hand in/05_tiled_matmul"
cp exercises/01_vector_add/vector_add.cu "$work/hand in/05_tiled_matmul/tiled_matmul.cu"
: >"$work/hand in/empty.cu"
printf 'x' >"$work/hand in/$(printf 'n\366.cu')"
ln -s /etc/passwd "$work/hand in/link.cu"
for how in '' --gzip --bzip2 --xz; do
    for format in ustar gnu pax; do
        # shellcheck disable=SC2086  # none or one
        tar -C "$work" -c --format=$format $how "hand in" | keep archive
    done
done
if command -v zip >/dev/null 2>&1; then
    (cd "$work" && zip -qr - "hand in") | keep archive
    (cd "$work" && zip -qr0y kept.zip "hand in" && cat kept.zip) | keep archive
fi

# Tables: with a byte-order mark, quotes, both line ends, a formula, a missing field.
printf '\357\273\277student,email\r\nada,ada@example.org\r\n"Lovelace, ""A."" ",\r\n' | keep roster
printf 'id,days,lesson\n=1+1,3,17\n../../x,2\n\n' | keep roster
printf 'student,lesson,points,reason\n\303\266zil,*,90,"two\nlines"\n' | keep roster

# Names of what was handed in: the first byte chooses roster and lessons.
printf '\000ada/gqa.cu\nbob.zip\ncarl_17_gqa (1).cu\nREADME.txt\nlea_x.cu\n' | keep layout
printf '\001Ada L_1001_assignsubmission_file_/gqa.cu\nParticipant_7_assignsubmission_onlinetext_x.html\n' | keep layout
printf '\010lovelaceada_LATE_18233_2470112_answers-2.txt\nanon_a1_2_gqa.cu\nx_1_text.html\n' | keep layout
printf '\014l17-submissions/l17-ada/gqa.cu\nl17-submissions/l17-b/gqa.cu\n' | keep layout
printf '\000a_export/submission_1/gqa.cu\na_export/submission_metadata.yml\nsubmission_1:\n  :submitters:\n  - :name: A\n    :sid: "1"\n  :created_at: 2026-11-20 1:2:3 Z\n' | keep layout
