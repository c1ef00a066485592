#!/bin/sh
# editor.sh: the course in an editor and a shell: what is wrong stands in its line, by the very
# regular expressions of .vscode/tasks.json; clangd has nothing to say of right kernels and
# something of wrong ones, without CUDA; a shell completes make's words. usage: editor.sh
. grader/test/tell.sh
. grader/test/ledger.sh
out=build/test/editor
rm -rf "$out" && mkdir -p "$out" || exit 2
tasks=grader/test/editor/tasks.pl

# ---- VS Code

# At a place where the file lies as in a clone of a student.
lesson=12_flash_forward solution=solutions/12_flash_forward/flash_forward.cu
number() { grep -nF -- "$1" "$2" | head -n 1 | cut -d: -f1; }
# problems NAME LESSON CASE WANTED...: grades $out/NAME, only the items that match CASE; the lines
# that tasks.json's matcher makes of what is printed hold each line WANTED, "LINE:COLUMN severity
# words"
problems() {
    COURSE_WITHOUT_NVCC=1 make -s grade LESSON="$2" CASE="$3" FILE="$out/$1" FORMAT=problems SEED=2026 >"$out/said" 2>"$out/lines"
    cat "$out/said" "$out/lines" | perl $tasks match "$out/$1" >"$out/matched"
    name=$1
    shift 3
    for wanted; do
        if grep -qF -- "$wanted" "$out/matched"; then tell ok "$name: $wanted"; else
            tell FAIL "$name: $wanted" "$(cat "$out/matched" "$out/lines")"
        fi
    done
    set -- "$name"
    # The report repeats the compiler's lines: those are the same problems, and no others.
    perl $tasks match "$out/$1" <"$out/said" | sort >"$out/in_report"
    perl $tasks match "$out/$1" <"$out/lines" | sort | comm -23 "$out/in_report" - >"$out/others"
    [ ! -s "$out/others" ] || tell FAIL "$1: the report has other problems" "$(cat "$out/others")"
}
if command -v perl >/dev/null 2>&1 && perl -MJSON::PP -e1 2>/dev/null; then
    expect "tasks.json: every task is a command of make with its words, every problem matcher the same" perl $tasks check
    # shellcheck disable=SC2016  # perl's variables
    expect "extensions.json, settings.json, devcontainer.json are JSON" perl -MJSON::PP -0777 -e '
        for (@ARGV) { open my $f, "<", $_ or die; decode_json(<$f>) }' .vscode/extensions.json .vscode/settings.json .devcontainer/devcontainer.json
    sed '/__syncthreads();  \/\/ row i of P/d' $solution >"$out/race.cu"
    problems race.cu 12 'several batches' "$(number '= P_smem[i][k];' "$out/race.cu"):1 error race on P_smem" \
        "$(number 'P_smem[i][j] = ' "$out/race.cu"):1 note write by thread ("
    sed 's/O_reg\[c\] += p/O_rag[c] += p/' $solution >"$out/typo.cu"
    problems typo.cu 12 '' "$(number 'O_rag[c]' "$out/typo.cu"):$(awk '/O_rag\[c\]/ { print index($0, "O_rag"); exit }' "$out/typo.cu") error 'O_rag' was not declared"
    sed 's/^#include <math.h>/&\n#include <fstream>/' $solution >"$out/refused.cu"
    problems refused.cu 12 '' "$(number '#include <fstream>' "$out/refused.cu"):1 error includes fstream"
    sed 's/^#define BLOCK_Q 16 /static int nobody_calls_it() { return 1; }\n&/' $solution >"$out/warned.cu"
    problems warned.cu 12 'several batches' "$(number nobody_calls_it "$out/warned.cu"):12 warning 'int nobody_calls_it()' defined but not used"
    sed '/^ *l \*= alpha;/d' $solution >"$out/cause.cu"
    ! cmp -s $solution "$out/cause.cu" || tell FAIL "cause.cu" "the line l *= alpha; is not there"
    problems cause.cu 12 'from tile to tile' "1:1 error the running sum l is not rescaled when the maximum grows [no_rescale]; first wrong: O["
    cp exercises/$lesson/flash_forward.cu "$out/stub.cu"
    problems stub.cu 12 '' ":1 error these elements were never written [never_written]"
    sh grader/test/wrong.sh list 10_online_softmax >/dev/null
    cp build/wrong/10_online_softmax/helper_without_return.cu "$out/returns.cu"
    problems returns.cu 10 'narrow rows' "$(grep -nx ' *expf(x - m);' "$out/returns.cu" | cut -d: -f1):1 error a function that has to return a value"
    mkdir -p "$out/21" && cp exercises/21_flop_counting/answers.txt "$out/21/answers.txt"
    problems 21/answers.txt 21 '' "$(number 'gqa_flops =' "$out/21/answers.txt"):1 error nothing stands after the = yet"
    cp $solution "$out/right.cu"
    COURSE_WITHOUT_NVCC=1 make -s grade LESSON=12 CASE='several batches' FILE="$out/right.cu" FORMAT=problems >/dev/null 2>"$out/lines"
    if [ ! -s "$out/lines" ]; then tell ok "right.cu has no problems"; else
        tell FAIL "right.cu has no problems" "$(cat "$out/lines")"
    fi
    # Watched: where a round begins and where it ends.
    FILE=$out/stub.cu FORMAT=problems timeout 60 sh grader/make/watch.sh $lesson >"$out/watched" 2>&1 &
    watcher=$!
    for _ in $(seq 1 100); do
        ! grep -q '^Waiting' "$out/watched" || break
        sleep 0.2
    done
    kill "$watcher" 2>/dev/null
    wait "$watcher" 2>/dev/null
    expect "watch: a round begins and ends as tasks.json says" perl $tasks rounds "$out/watched"
else
    tell skip "tasks.json" "there is no perl (sh setup.sh --dev)"
fi

# ---- clangd

# checked FILE: what clangd has to say of it
checked() {
    clangd --check="$1" --check-lines=1 2>&1 | sed -n 's/^[EW]\[[0-9:.]*\] //p'
}
# planted FILE WORDS: in the copy beside the solution, of which clangd says WORDS
planted() {
    found=$(checked "$1")
    case $found in
    *"$2"*) tell ok "clangd, planted: $2" ;;
    *) tell FAIL "clangd, planted: $2" "${found:-nothing was found}" ;;
    esac
}
if command -v clangd >/dev/null 2>&1; then
    sh grader/make/editor.sh
    list=build/compile_commands.json
    cp $list "$out/before" && sh grader/make/editor.sh stale && cmp -s $list "$out/before" &&
        sed -i "2s|$(pwd -P)|/elsewhere|" $list && sh grader/make/editor.sh stale
    expect "the list of clangd is made again where the folder was moved, and only there" cmp $list "$out/before"
    # A file is asked about once for each state of it and of the headers.
    headers=$(cat grader/cpu/editor/*.h grader/cpu/editor/*/*.h grader/cpu/include/*.h grader/cpu/include/*/*.h lessons/*.h \
        grader/make/editor.sh .clangd grader/test/editor.sh | sha256sum | cut -c 1-32)-$(clangd --version | sha256sum | cut -c 1-8)
    new=0 old=0
    for file in solutions/*/*.cu exercises/0*/*.cu lessons/*.h grader/12_flash_forward/*.c grader/report/problems.c; do
        # Behind a contract alone: epilogue.h says so.
        case $(head -n 4 "$file") in *"included lesson"*) continue ;; esac
        name=${file#*/} name=${name%%/*}
        key=$(cat "$file" "lessons/$name"/*.h 2>/dev/null | sha256sum | cut -c 1-32)-$headers
        if ledger_has clangd "$key"; then
            old=$((old + 1))
            continue
        fi
        new=$((new + 1))
        found=$(checked "$file")
        if [ -z "$found" ]; then ledger_add clangd "$key"; else tell FAIL "clangd: $file" "$found"; fi
    done
    tell ok "clangd has nothing to say of $((new + old)) files ($old as in an earlier run)"
    mkdir -p build/wrong/$lesson
    plant=build/wrong/$lesson/editor_test.cu
    trap 'rm -f "$plant"' EXIT
    cp "$out/typo.cu" $plant && planted $plant "use of undeclared identifier 'O_rag'"
    sed 's/__half2float(/__half3float(/' $solution >$plant && planted $plant "__half3float"
    sed '0,/^template <int d>$/s//static int on_the_host() { return 1; }\n&/; s/int thread = /int unused = on_the_host(), thread = /' $solution >$plant &&
        planted $plant "no matching function for call to 'on_the_host'"
    grep -v 'include "flash_forward.h"' $solution >$plant && planted $plant "COURSE_OK"
    # What it offers behind a word's beginning
    offers() { # offers TYPED WANTED
        sed "s/^\( *\)l \*= alpha;/\1$1/" $solution >$plant
        line=$(grep -n "^ *$1\$" $plant | cut -d: -f1)
        sh grader/test/editor/complete.sh $plant "$line" "$1" >"$out/offered"
        if grep -qx -- "$2" "$out/offered"; then tell ok "clangd completes $1: $2"; else
            tell FAIL "clangd completes $1: $2" "$(head -n 5 "$out/offered")"
        fi
    }
    offers __syncth __syncthreads
    offers __half2fl __half2float
    offers blockI blockIdx
    offers O_r O_reg
    rm -f $plant
else
    tell skip "clangd" "is not installed (sh setup.sh --dev)"
fi

# ---- shells
for shell in bash zsh; do
    if ! command -v $shell >/dev/null 2>&1; then
        tell skip "completion in $shell" "there is no $shell (sh setup.sh --dev)"
        continue
    fi
    said=$($shell grader/test/editor/completion.$shell 2>&1)
    status=$?
    printf '%s\n' "$said" | grep -v '^ok' | head -n 20
    n=$(printf '%s\n' "$said" | grep -c '^ok')
    if [ $status = 0 ] && [ "$n" -gt 5 ]; then tell ok "completion in $shell: $n words"; else
        tell FAIL "completion in $shell" "$n are right"
    fi
done
# Every command of make and every word in the table of completion.bash, and no other.
bash -c '. grader/make/completion.bash; _course_commands' >"$out/commands"
for target in $(sed -n '/^.PHONY:/,/^.SECONDARY:/p' Makefile | tr -cs 'a-z0-9-' ' '); do
    case $target in help | tools | trainers | library | ready | units | fuzzers | analyzed | whole | lesson) continue ;; esac
    grep -qE "^$target( |$)" "$out/commands" || echo "make $target is not completed"
done >"$out/missing"
while read -r command words; do
    for word in $words; do
        sh grader/make/typos.sh "$command" "${word%=}" ''
    done
    grep -q "^$command:" Makefile || echo "make $command is completed and does not exist"
done <"$out/commands" >>"$out/missing"
if [ ! -s "$out/missing" ]; then tell ok "completion knows the commands of make and their words"; else
    tell FAIL "completion knows the commands of make and their words" "$(cat "$out/missing")"
fi
finish
