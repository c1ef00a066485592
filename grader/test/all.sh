#!/bin/sh
# all.sh: what `make test`, `make soak` and `make test-cpu` run: jobs beside each other, to keep all
# cores busy. One line per test; the exit status says it all.
# usage: all.sh LESSON...         everything; of a single lesson only what belongs to it
#        all.sh -s REGEX          the stages whose names it matches, and no lesson
#        all.sh -k LESSON...      the lessons alone (with SOAK or KINDS: lesson.sh)
. grader/test/tell.sh
. grader/test/ledger.sh
# Two at once in one folder would take each other's files.
if [ -z "${TEST_LOCKED:-}" ]; then
    mkdir -p build/test
    TEST_LOCKED=yes flock -n -o -E 75 build/test/.lock sh grader/test/all.sh "$@"
    status=$?
    [ $status != 75 ] || echo "Another test runs in this folder; start this one when that has ended." >&2
    exit $status
fi
unset TEST_LOCKED
start=$(date +%s)
out=build/test/run
only=none
case ${1:-} in
-s) only=$2 && shift 2 ;;
-k) shift ;;
*) if [ $# = 1 ]; then only="^$1-test"; else only=.; fi ;;
esac
unset MAKEFLAGS MAKELEVEL
rm -rf $out
mkdir -p $out/keys
ledger_trim

# A stage, what it tests, and the script. A stage is not run again if none of its files has changed
# since it was green. NN: the files of that lesson; course: what lessons stand on; lessons: all of
# theirs; else the beginnings of names. A stage's own script and folder, and grader/test/tell.sh,
# count everywhere. The longest first: they end together with the rest.
. grader/cpu/test/hardware/programs.sh
proven=$(programs | awk '$2 != "-" { print substr($2, 1, 2) }' | sort -u | tr '\n' ' ')
# A traced kernel runs on the CPU device, beside a program of its own: nothing is graded.
traced="Makefile setup.sh grader/make grader/base grader/run grader/trace lessons/course.h \
grader/cpu/cards grader/cpu/cxxflags grader/cpu/device grader/cpu/include grader/cpu/rewrite \
grader/cpu/watch"
stages() {
    # What only one lesson can prove about itself, and others.
    for test in grader/[0-9]*/test.sh; do
        echo "$(basename "${test%/*}")-test | course lessons | $test"
    done
    cat <<TABLE
interface | course README.md .gitignore 01 02 05 21            | grader/test/interface.sh
class     | course grader/class 05                             | grader/test/class.sh
cpu       | course grader/cpu $proven                   | grader/cpu/test/run.sh $build
services  | course grader/class README.md slides 02 03 05 12 14 17 19 21 | grader/test/services.sh
fuzz      | course grader/class 21                             | grader/test/fuzz.sh
slides    | slides plots lessons/ solutions/ grader/make/slides.sh grader/make/chromium.sh | grader/test/slides.sh
sweep     | $traced slides/sweep grader/test/wrong.sh 12 13 15 19 | grader/test/sweep.sh
unit      | course                                             | grader/test/unit.sh
sanitized | course 05                                          | grader/test/sanitized.sh
editor    | course lessons/ solutions/ exercises/ .vscode .clangd .devcontainer | grader/test/editor.sh
analyze   | course grader/class lessons                        | grader/test/analyze.sh
new       | course grader/test                                 | grader/test/new.sh
fingerprint | course                                           | grader/test/fingerprint.sh
plots     | course plots README.md 12                          | grader/test/plots.sh
book      | lessons/ solutions/ exercises/ plots slides/sweep README.md CONTRIBUTING.md grader/README.md grader/cpu/README.md \
grader/make/book grader/make/chromium.sh | grader/test/book.sh
aarch64   | grader/cpu lessons/course.h lessons/ptx.h          | grader/cpu/test/aarch64.sh $build
style     | .                                                  | grader/test/style.sh
uploads   | course grader/class grader/test/class 01           | grader/test/uploads.sh
library   | course pytorch 12                                  | grader/test/library.sh
layouts   | course grader/class grader/test/class              | grader/test/layouts.sh
bench     | course grader/bench lessons                        | grader/test/bench.sh
load      | course 01                                        | grader/test/load.sh
nvcc      | course 17 grader/cpu/test/hardware grader/test/exploits | grader/test/nvcc.sh instructions
rooms     | course grader/class lessons                        | grader/test/rooms.sh
pictures  | slides plots lessons grader/make/figure.sh         | grader/test/pictures.sh
map       | .                                                  | grader/test/map.sh
TABLE
}

# With SAMPLE="96 WORD" these run in one week of four, drawn by WORD. Other stages draw some of what
# they test.
seldom="fingerprint library load new plots"

# The files of each stage, by their hashes, into $out/keys/STAGE.
files_of_stages() {
    git ls-files -z --cached --others --exclude-standard | xargs -0 sha256sum 2>/dev/null >$out/files
    stages | awk -F ' *[|] *' -v out=$out/keys/ '
        NR == FNR { name[NR] = $1; words[NR] = $2 " grader/test/tell.sh " $3; stages = NR; next }
        {
            hash = substr($0, 1, 64)
            file = substr($0, 67)
            lesson = match(file, /^(lessons|solutions|exercises|grader)\/[0-9][0-9]_/) ? substr(file, RLENGTH - 2, 2) : ""
            course = lesson == "" && file ~ /^(Makefile|setup.sh|lessons|grader)/ &&
                file !~ /^grader\/(test|class|bench|trace|cpu\/test|cpu\/bench)\//
            for (s = 1; s <= stages; s++) {
                n = split(words[s], word, " ")
                for (w = 1; w <= n; w++) {
                    is = word[w]
                    sub(/\.sh$/, "", is)
                    if (is == "." || is == "course" && course || is == "lessons" && lesson != "" ||
                        is == lesson || is == file || index(file, is (is ~ /\// ? "" : "/")) == 1) {
                        print hash, file > (out name[s])
                        break
                    }
                }
            }
        }' - $out/files
}

# group NAME: a folder for it; the jobs are the lines of stdin
group() {
    mkdir -p "$out/$1"
    sed "s|^|$1 |" >"$out/$1/list"
    wc -l <"$out/$1/list" >"$out/$1/count"
    cat "$out/$1/list" >>$out/jobs
}
# planned NAME CLOSE...: its jobs are those that its script has left in build/test/NAME/jobs; CLOSE
# comes behind them, also if there are none
planned() {
    name=$1
    shift
    if [ -s "build/test/$name/jobs" ]; then
        group "$name" <"build/test/$name/jobs"
        echo "$*" >"$out/$name/close"
    else
        echo "$*" | group "$name"
    fi
}

: >$out/jobs
: >$out/groups
if [ "$only" != none ]; then
    files_of_stages
    machine=$({ g++ --version && uname -mr && stages; } | sha256sum | cut -c 1-16)
    # A stage that has run a sample is green for that sample alone.
    of_sample=${SAMPLE:+-$(echo "$SAMPLE" | sha256sum | cut -c 1-8)}
    stages | sed 's/ *| */|/g' | awk -F'|' -v only="$only" '$1 ~ only' >$out/stages
    while IFS='|' read -r name _ script; do
        key=$name-$machine-$(sha256sum <"$out/keys/$name" | cut -c 1-32)
        if ledger_has stages "$key" || ledger_has stages "$key$of_sample"; then
            echo "ok    $name: nothing that it tests has changed since it was green"
            continue
        fi
        case " $seldom " in *" $name "*)
            drawn "stage $name" 24 || { tell ok "$name: not drawn" && continue; }
            ;;
        esac
        echo "$script" | group "$name"
        echo "$key$of_sample" >"$out/$name/key"
    done <$out/stages
fi
mv $out/jobs $out/waiting
: >$out/jobs
if echo exploits | grep -qE "^($only)"; then
    mkdir -p $out/exploits
    sh grader/test/exploits.sh plan | tee $out/exploits/said
    planned exploits exploits.sh close
fi
# What the lessons have to prove, and what of it is left to run
for lesson; do mkdir -p "$out/$lesson"; done
[ $# = 0 ] || printf '%s\n' "$@" | xargs -P "$(nproc)" -I L sh -c \
    'sh grader/test/lesson.sh plan L >build/test/run/L/said 2>&1 || echo "FAIL  L: as it stands" >>build/test/run/L/said'
# The later ones take longer.
for lesson in $(printf '%s\n' "$@" | sort -r); do
    cat "$out/$lesson/said"
    planned "$lesson" lesson.sh close "$lesson"
done

# Two makes at once must not build the same file.
[ "$only" != . ] || flock build/.lock make -s -j"$(nproc)" "$build/class" || exit 1
# Two queues, so that the cores are never idle: a stage waits for a browser, for Slurm or for a time
# limit half of its time; exploits, kernels and nvcc compute.
xargs -r -P $(($(nproc) + 1)) -L 1 sh grader/test/job.sh <$out/waiting &
xargs -r -P "$(nproc)" -L 1 sh grader/test/job.sh <$out/jobs
wait

# Seconds, and those of processors: jobs wait for each other. By group, and by kind of job.
echo "== $(($(date +%s) - start)) s"
{
    awk '{ print $3, $4, $1 }' $out/groups
    awk '$4 ~ /^(kernel|nvcc|exploit).sh/ { print $1, $2, $4, $4 == "kernel.sh" ? $7 : $4 == "nvcc.sh" ? $5 : "" }' \
        $out/*/done
} | awk '{ name = $3 " " $4; ms[name] += $1; processor[name] += $2; n[name]++ }
    END { for (name in ms) printf "%6d s %6.1f s of processors  %4d x %s\n",
        ms[name] / 1000 + 0.5, processor[name] / 1000, n[name], name }' | sort -k 3 -rn
[ "$(wc -l <$out/groups)" = "$(find $out -name count | wc -l)" ] && ! grep -q '^[^ ]* 1' $out/groups && {
    echo "All tests passed."
    exit
}
echo "Failed:"
for dir in "$out"/*/; do
    name=$(basename "$dir")
    [ ! -e "${dir}count" ] || grep -q "^$name 0" $out/groups || grep -hs -m 5 '^FAIL' "${dir}said" || echo "$name: see $dir"
done
exit 1
