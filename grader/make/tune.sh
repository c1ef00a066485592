#!/bin/sh
# tune.sh: what `make tune LESSON=14` does: times the solution (or FILE=) with every choice of tiles
# in grader/LESSON/tiles.txt, records the figures in plots/data/GPU/LESSON.tiles.csv, and writes the
# fastest into lessons/LESSON/tiles.h, which the launcher includes: one for each #define there,
# TILES_64_CAUSAL for the size whose label has "d = 64; causal". lessons/tuned_tiles.h gets them,
# too. A choice whose kernel spills registers has to be 2 % faster than those that do not, and
# tiles.h says how many bytes of a thread it spills. Without a GPU it shows the recorded figures.
# With SHARED=99 only tiles are tried for which a block takes 99 KB of shared memory at most. The
# figures go to LESSON.tiles_99KB.csv, the fastest to TILES_128_99KB and so on.
# usage: tune.sh LESSON   with FILE, BUDGET (seconds, 20), SHARED (KB) in the environment
. grader/make/gpu.sh
lesson=$1
header=lessons/$lesson/tiles.h
candidates=grader/$lesson/tiles.txt
limit=${SHARED:+_${SHARED}KB}
if [ ! -e "$candidates" ]; then
    echo "Lesson $lesson has no tiles to choose from." >&2
    exit 2
fi
case ${SHARED:-1} in
*[!0-9]* | 0*)
    echo "SHARED=$SHARED: how many KB of shared memory may a block have? For example SHARED=99." >&2
    exit 2
    ;;
esac
[ -z "$limit" ] || grep -q "^#define TILES_[0-9A-Z_]*$limit " "$header" || {
    echo "SHARED=$SHARED: $header has no line for it. There are:" \
        "$(sed -n 's/^#define \(TILES_[0-9A-Z_]*KB\) .*/\1/p' "$header" | tr '\n' ' ')" >&2
    exit 2
}

if ! find_gpu; then
    recorded "tiles$limit.csv" "$lesson"
    exit 0
fi

out=build/tune/$lesson$limit
rm -rf "$out"
mkdir -p "$out" "plots/data/$gpu"
make -s --no-print-directory "build/grader/$lesson/bench" || exit 2
file=${FILE:-$(solution "$lesson")}
grep -v '^#' "$candidates" | tr -d ' ' | tr , x >"$out/names"

# What a block takes, as tiles.txt says it, is asked of the compiler: lines NAME D BYTES of those
# that take more than the limit, and the names of those that fit for some d.
fitting() {
    {
        echo "#include \"$file\""
        echo '#include <stdio.h>'
        echo 'int main(void) {'
        sed -n 's/^#define TILES_\([0-9]*\) .*/\1/p' "$header" | while read -r d; do
            while read -r name; do
                tiles=$(echo "$name" | sed 's/x/, /g')
                sed -n 's/^# shared memory: //p' "$candidates" | sed "s/\\bd\\b/$d/g; s/\\bTILES\\b/$tiles/g" |
                    while read -r bytes; do printf '%s\n' "printf(\"$name $d %zu\\n\", $bytes);"; done
            done <"$out/names"
        done
        echo 'return 0; }'
    } >"$out/sizes.cu"
    "$nvcc" -std=c++17 "-arch=sm_$compute" -I. -Ilessons "-Ilessons/$lesson" -o "$out/sizes" "$out/sizes.cu" >"$out/sizes.log" 2>&1 &&
        "$out/sizes" >"$out/sizes.txt" || {
        echo "What a block takes of shared memory could not be asked; see $out/sizes.log" >&2
        exit 2
    }
    awk -v most=$((SHARED * 1024)) '$3 > most { print $1, $2 }' "$out/sizes.txt" | sort -u >"$out/large"
    awk 'FILENAME == ARGV[1] { large[$1, $2]; next } !(($1, $2) in large) { print $1 }' "$out/large" "$out/sizes.txt" |
        sort -u >"$out/small"
    grep -xFf "$out/small" "$out/names" >"$out/tried"
    mv "$out/tried" "$out/names"
}
: >"$out/large"
[ -z "$limit" ] || fitting

echo "Compiling $(wc -l <"$out/names") choices of tiles"
compile() { # compile NAME: with this choice for every kernel
    mkdir -p "$out/$1"
    sed "s/^\(#define TILES_[0-9][0-9A-Z_]*\) .*/\1 $(echo "$1" | tr x ,)/" "$header" >"$out/$1/tiles.h"
    library "$lesson" "$file" "$out/$1" -I"$out/$1" -Xptxas -v
}
while read -r name; do turn compile "$name"; done <"$out/names"
wait

# How many bytes does a kernel spill, at most? d is the first template parameter, the first ILi...E
# of its name.
while read -r name; do
    awk -v name="$name" '
        /Compiling entry/ { d = match($0, /ILi[0-9]+E/) ? substr($0, RSTART + 3, RLENGTH - 4) : "" }
        / bytes spill stores/ && $5 > most[d] { most[d] = $5 }
        END { for (d in most) if (most[d] > 0) print name, d, most[d] }' "$out/$name.log"
done <"$out/names" >"$out/spills"

csv=plots/data/$gpu/$lesson.tiles$limit.csv
[ -z "$FILE" ] || csv=$out/yours.csv # your own times are yours (gpu.sh)
versions=$(while read -r name; do
    [ ! -e "$out/$name.so" ] || echo "tiles:$name=$out/$name.so"
done <"$out/names")
# shellcheck disable=SC2086  # one word each
BENCH_ONLY="B = 4; N = 4096" "build/grader/$lesson/bench" "$out/csv" "${BUDGET:-20}" $versions || exit 1
awk -F, -v OFS=, -v large="$out/large" '
    BEGIN { while ((getline line < large) > 0) { split(line, f, " "); too_large[f[1] "," f[2]] } }
    FILENAME == ARGV[1] { split($0, f, " "); spills[f[1] "," f[2]] = f[3]; next }
    FNR == 1 { for (c = 1; c <= NF; c++) at[$c] = c }
    { d = match($1, /d = [0-9]+/) ? substr($1, RSTART + 4, RLENGTH - 4) : "" }
    ($2 "," d) in too_large { next }
    ($2 "," d) in spills && $at["outcome"] == "verified" {
        $at["outcome"] = "verified; spills " spills[$2 "," d] " bytes" }
    { print }' "$out/spills" "$out/csv" >"$csv"

printf '\nRecorded in %s\n\n' "$csv"
awk -f grader/make/tune_table.awk "$csv"
awk -v edit=1 -v limit="$limit" -f grader/make/tune_table.awk "$csv" >"$out/edit"
[ -s "$out/edit" ] || {
    echo "No choice of tiles was right at B = 4; N = 4096: $header is as it was." >&2
    exit 1
}
sed -f "$out/edit" "$header" >"$out/tiles.h" && cp "$out/tiles.h" "$header"
printf '\nThe fastest are in %s now.\n' "$header"
shared=lessons/tuned_tiles.h
[ ! -e $shared ] || { awk -f grader/make/taught.awk $shared >"$out/shared.h" && cp "$out/shared.h" $shared; }
