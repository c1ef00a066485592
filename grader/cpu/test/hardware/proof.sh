#!/bin/sh
# shellcheck disable=SC2046,SC2086  # $flags and lists of files are lists of words
# proof.sh: the CPU device against the hardware. Predicted counters beside those of Nsight Compute
# (counters.csv), the checked mode beside compute-sanitizer on the same mistakes (findings.csv).
#
#   proof.sh check BUILD      what `make test` runs: predictions and findings, made again, are those
#                             of the tables; the README shows the tables' numbers
#   proof.sh summary          both tables in short, as the README shows them
#   proof.sh predict BUILD    the predictions alone, as CSV
#
# To measure, for example on a rented GPU:
#   proof.sh build DIR        needs nvcc: all programs, into DIR
#   proof.sh measure DIR RAW [counters|findings]   needs a GPU, ncu and compute-sanitizer, and nothing but
#                             DIR and this folder: what they say, into RAW; or one half of it
#   proof.sh compare BUILD [RAW]   writes both tables. Without RAW, measurements stay of what is
#                             predicted as before; a kernel that changed is no longer measured
# BUILD holds cpu/rewrite and libcpu.a. Runs from anywhere.
set -u
here=$(cd "$(dirname "$0")" && pwd) || exit 2
root=$(cd "$here/../../../.." && pwd) || exit 2
export LC_ALL=C
. "$here/programs.sh"
work=$(mktemp -d) || exit 2
trap 'rm -rf "$work"' EXIT
trap 'exit 1' INT TERM
fail() {
    echo "proof.sh: $*" >&2
    exit 1
}

# ---- predictions ---------------------------------------------------------------------------------

# predict_one BUILD NAME LESSON SOURCE...: compiles one program and runs it on the CPU device
predict_one() {
    build=$1 name=$2 lesson=$3
    shift 3
    objects=
    for source; do
        object=$runs/$name.$(basename "$(dirname "$source")").$(basename "$source" .cu)
        "$build/cpu/rewrite" "$root/$source" "$object.cpp" "$source" &&
            ${CXX:-g++} $(cat "$root/grader/cpu/cxxflags-watched") "-I$root/grader/cpu/include" \
                "-I$root/grader/cpu/test/watch" "-I$(dirname "$root/$source")" "-I$root/lessons" \
                "-I$root/lessons/$lesson" -c "$object.cpp" -o "$object.o" || return 1
        objects="$objects $object.o"
    done
    ${CXX:-g++} -no-pie $objects "$build/libcpu.a" -lpthread -lm -o "$runs/$name" &&
        CUDEV_WATCH=profile timeout 60 "$runs/$name" csv > "$runs/$name.out" &&
        awk -v program="$name" -f "$here/predict.awk" "$runs/$name.out" > "$runs/$name.csv"
}

predict() {
    build=$(cd "$1" && pwd) && runs=$work/runs && mkdir "$runs" || exit 1
    # two at a time
    for half in 0 1; do
        programs | awk "NR % 2 == $half" | while read -r name lesson sources; do
            predict_one "$build" "$name" "$lesson" $sources || echo "$name" >> "$runs/failed"
        done &
    done
    wait
    if [ -e "$runs/failed" ]; then
        echo "proof.sh: no prediction for $(tr '\n' ' ' < "$runs/failed")" >&2
        return 1
    fi
    programs | while read -r name _; do cat "$runs/$name.csv"; done
}

# ---- measurements --------------------------------------------------------------------------------

# Planted mistakes that a GPU can run: those of the CPU device's own headers and of host code
# cannot.
planted() {
    grep -L -e 'cudev_' -e 'shadow' -e 'ends with host code' "$here"/../watch/planted/*.cu
}

# Two builds: `default` is nvcc's own. In `apart` no loop is unrolled and no two accesses are made
# one, so that the machine code asks for what the source asks for.
build() {
    nvcc=$(command -v nvcc || echo /usr/local/cuda/bin/nvcc)
    [ -x "$nvcc" ] || fail "there is no nvcc; install the CUDA toolkit"
    mkdir -p "$1/default" "$1/apart" "$1/planted" && out=$(cd "$1" && pwd) || exit 1
    {
        programs | while read -r name lesson sources; do
            flags="-Werror all-warnings -I lessons/$lesson"
            echo "$flags $sources -o $out/default/$name"
            echo "-Xcicc -O1 -Xptxas -O0 $flags $sources -o $out/apart/$name"
        done
        planted | while read -r source; do
            # the mistakes are what these warnings are about
            echo "-w -lineinfo $source -o $out/planted/$(basename "$source" .cu)"
        done
    } > "$out/jobs"
    cd "$root" || exit 1
    nice xargs -P 2 -L 1 "$nvcc" -gencode arch=compute_90a,code=sm_90a -std=c++17 -I grader/cpu/test/watch -I lessons < "$out/jobs" ||
        fail "nvcc refused one of the programs above"
    rm "$out/jobs"
}

# known: those of metrics() that this ncu has, one a line
known() {
    ncu --query-metrics 2> /dev/null | awk '{ print $1 }' > "$raw/known"
    for metric in $(metrics); do
        if grep -qx "${metric%.sum}" "$raw/known"; then
            echo "$metric"
        else
            echo "proof.sh: ncu does not have $metric" >&2
        fi
    done
}

measure() {
    for tool in ncu compute-sanitizer nvidia-smi; do
        command -v $tool > /dev/null || fail "there is no $tool here; measure on a machine with a GPU"
    done
    dir=$(cd "$1" && pwd) || exit 1
    mkdir -p "$2" && raw=$(cd "$2" && pwd) || exit 1
    # the first line of the tables' last columns: gpu,driver,cuda,date
    echo "$(nvidia-smi --query-gpu=name,driver_version --format=csv,noheader | head -n 1 | sed 's/, /,/'),$(
        nvidia-smi | sed -n 's/.*CUDA[^:]*Version: *\([0-9.]*\).*/\1/p'),$(date -u +%Y-%m-%d)" > "$raw/machine"
    cat "$raw/machine"
    all=$(known | paste -sd, -)
    # One ncu for all programs of a build. Other work on the GPU would be counted as well.
    [ "${3:-}" = findings ] || for how in apart default; do
        cat > "$raw/all.sh" <<TEXT
for p in "$dir/$how"/*; do
    "\$p" csv > "$raw/$how.\$(basename "\$p").launches" || echo "proof.sh: \$p failed" >&2
done
TEXT
        ncu --clock-control none --target-processes all --metrics "$all" -f -o "$raw/$how" \
            sh "$raw/all.sh" > "$raw/$how.log" 2>&1 || tail -n 5 "$raw/$how.log" >&2
        ncu -i "$raw/$how.ncu-rep" --page raw --csv --print-units base > "$raw/$how.csv" || exit 1
    done
    cat > "$raw/one.sh" <<TEXT
said="$raw/\$(basename "\$1").\$2"
timeout -k 5 40 compute-sanitizer --tool \$2 --print-limit 20 "\$1" > "\$said" 2>&1
echo "exit status \$?" >> "\$said"
TEXT
    # Many at a time: most of it is start-up.
    [ "${3:-}" = counters ] || for p in "$dir/planted"/*; do
        for tool in $tools; do echo "$p $tool"; done
    done | xargs -P 12 -L 1 sh "$raw/one.sh"
}

# ---- tables --------------------------------------------------------------------------------------

counters=$here/counters.csv
findings=$here/findings.csv
tools="memcheck racecheck initcheck synccheck"

# "bug,expected,ours" of the mistakes a GPU can run: what the first line of the file wants found,
# and whether the watchers' tests, which leave what they found in BUILD, have seen just that.
bugs() {
    [ -d "$1/test/planted" ] || fail "run sh grader/cpu/test/watch/run.sh $1 first"
    planted | while read -r source; do
        name=$(basename "$source" .cu)
        # "race 7 9, race 8 9; ends with barrier divergence" becomes "race+barrier_divergence"
        expected=$(sed -n '1s|^// finds: ||p' "$source" | sed -e 's/; ends with barrier.*/,barrier_divergence/' \
            -e 's/; ends with deadlock.*/,deadlock/' -e 's/; ends with .*/,diagnosis/' | tr ',' '\n' | awk '$1 != "nothing" && !seen[$1]++ { print $1 }' |
            paste -sd+ -)
        ours=no
        [ "$(cat "$1/test/planted/$name" 2> /dev/null)" = "$expected" ] && ours=yes
        echo "$name,$expected,$ours"
    done
}

# verdict FILE TOOL: one word for what compute-sanitizer printed
verdict() {
    case $2 in
    memcheck) sign='^========= (Invalid|Misaligned)' ;;
    racecheck) sign='^========= Error: .*(Race|hazard)' ;;
    initcheck) sign='^========= Uninitialized' ;;
    synccheck) sign='^========= (Barrier error|Divergent)' ;;
    esac
    if grep -qE "$sign" "$1"; then
        echo finds
    elif [ "$2" = racecheck ] && grep -qE '^========= Warning: .*(Race|hazard)' "$1"; then
        echo warns
    elif grep -qE '^exit status (124|137)$' "$1"; then
        echo hangs
    elif grep -qE '^========= (ERROR|RACECHECK) SUMMARY' "$1"; then
        echo nothing
    else
        echo fails
    fi
}

compare() {
    build=$(cd "$1" && pwd) || exit 1
    raw=${2:-}
    predict "$build" > "$work/predicted" && bugs "$build" > "$work/bugs" || exit 1
    : > "$work/measured"
    if [ -n "$raw" ]; then
        for how in apart default; do
            for launches in "$raw/$how".*.launches; do
                program=${launches#"$raw/$how."}
                sed -n "s/^launch,/${program%.launches},/p" "$launches"
            done > "$work/launches"
            awk -v how=$how -v machine="$(cat "$raw/machine")" -v metrics="$(metrics | paste -sd' ' -)" -f "$here/measured.awk" \
                "$work/launches" "$raw/$how.csv" >> "$work/measured" || exit 1
        done
        while IFS=, read -r bug rest; do
            row=$bug,$rest
            for tool in $tools; do row=$row,$(verdict "$raw/$bug.$tool" "$tool"); done
            echo "$row,$(cat "$raw/machine")"
        done < "$work/bugs" > "$work/findings"
    else
        awk -F, 'NR == FNR { row = $0; sub(/^[^,]*,[^,]*,[^,]*,/, "", row); had[$1] = row; next }
            { print $0 "," ($1 in had ? had[$1] : ",,,,,,,") }' "$findings" "$work/bugs" > "$work/findings"
    fi
    awk -F, -v again="$([ -z "$raw" ] && echo 1)" -f "$here/compare.awk" \
        "$work/predicted" "$counters" "$work/measured" > "$work/counters" || exit 1
    cp "$work/counters" "$counters"
    {
        echo "bug,expected,ours,memcheck,racecheck,initcheck,synccheck,gpu,driver,cuda,date"
        cat "$work/findings"
    } > "$work/table" && cp "$work/table" "$findings"
}

# check BUILD: one line a test
check() {
    build=$(cd "$1" && pwd) || exit 1
    status=0
    # told NAME ADVICE: the last command failed; what it printed is in $work/log
    told() {
        echo "FAILED  hardware/$1"
        head -n 20 "$work/log" | sed 's/^/        /'
        echo "        next: $2"
        status=1
    }
    awk -F, 'NR > 1 && $3 != 0 { print $1 "," $2 "," $3 }' "$counters" > "$work/table"
    if predict "$build" > "$work/now" 2> "$work/log" && diff "$work/table" "$work/now" > "$work/log"; then
        echo "ok      hardware/counters.csv, $(wc -l < "$work/now") predictions of $(
            cut -d, -f1 "$work/now" | uniq | wc -l) launches"
    else
        told "counters.csv: < stands in the table, > is predicted now" \
            "if it is meant, sh grader/cpu/test/hardware/proof.sh compare build; changed kernels have to be measured again"
    fi
    # mistakes that were planted since are no failure: nobody without a GPU can try them there
    cut -d, -f1-3 "$findings" | tail -n +2 | sort > "$work/table"
    # of a sample those that were drawn
    [ -z "${SAMPLE:-}" ] || join -t, "$work/table" - > "$work/drawn" << RAN
$(cd "$build/test/planted" && printf '%s\n' * | sort)
RAN
    [ -z "${SAMPLE:-}" ] || mv "$work/drawn" "$work/table"
    if bugs "$build" > "$work/now" 2> "$work/log" &&
        sort "$work/now" | comm -23 "$work/table" - > "$work/log" && [ ! -s "$work/log" ]; then
        echo "ok      hardware/findings.csv, $(wc -l < "$work/table") mistakes"
    else
        told "findings.csv: these rows hold no longer" "mend what finds them, or proof.sh compare build"
    fi
    if sh "$here/join.sh" > "$work/log" 2>&1; then
        echo "ok      hardware: predictions and measurements are joined right"
    else
        told "join.sh" "sh -x grader/cpu/test/hardware/join.sh"
    fi
    summary > "$work/now"
    awk '/^    make proof$/ { found = 1; next } found && /^```/ { if (inside) exit; inside = 1; next } inside' \
        "$root/grader/cpu/README.md" > "$work/table"
    if diff "$work/table" "$work/now" > "$work/log"; then
        echo "ok      hardware: grader/cpu/README.md shows the tables as they are"
    else
        told "grader/cpu/README.md: < stands there, > is in the tables" "make texts"
    fi
    return $status
}

summary() {
    awk -F, -f "$here/summary.awk" "$counters" "$findings"
}

case ${1:-} in
predict) predict "${2:?usage: proof.sh predict BUILD}" ;;
build) build "${2:?usage: proof.sh build DIR}" ;;
measure) measure "${2:?usage: proof.sh measure DIR RAW}" "${3:?usage: proof.sh measure DIR RAW}" "${4:-}" ;;
compare) compare "${2:?usage: proof.sh compare BUILD [RAW]}" "${3:-}" ;;
check) check "${2:?usage: proof.sh check BUILD}" ;;
summary) summary ;;
*) fail "usage: proof.sh check|summary|predict|build|measure|compare ...; its first lines say more" ;;
esac
