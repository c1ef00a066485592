#!/bin/sh
# tune.sh: what `make tune LESSON=14` does: times the solution (or FILE=) with every choice of tiles
# in grader/LESSON/tiles.txt, records the figures in plots/data/GPU/LESSON.tiles.csv, and writes the
# fastest into lessons/LESSON/tiles.h, which the launcher includes: one for each #define there,
# TILES_64_CAUSAL for the size whose label has "d = 64; causal". A choice whose kernel spills
# registers has to be 2 % faster than those that do not, and tiles.h says how many bytes of a thread
# it spills. Without a GPU it shows the recorded figures.
# usage: tune.sh LESSON   with FILE, BUDGET (seconds, 20) in the environment
. grader/make/gpu.sh
lesson=$1
header=lessons/$lesson/tiles.h
candidates=grader/$lesson/tiles.txt
if [ ! -e "$candidates" ]; then
    echo "Lesson $lesson has no tiles to choose from." >&2
    exit 2
fi

if ! find_gpu; then
    recorded tiles.csv "$lesson"
    exit 0
fi

out=build/tune/$lesson
rm -rf "$out"
mkdir -p "$out" "plots/data/$gpu"
make -s --no-print-directory "build/grader/$lesson/bench" || exit 2
file=${FILE:-$(solution "$lesson")}
grep -v '^#' "$candidates" | tr -d ' ' | tr , x >"$out/names"
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

csv=plots/data/$gpu/$lesson.tiles.csv
[ -z "$FILE" ] || csv=$out/yours.csv # your own times are yours (gpu.sh)
versions=$(while read -r name; do
    [ ! -e "$out/$name.so" ] || echo "tiles:$name=$out/$name.so"
done <"$out/names")
# shellcheck disable=SC2086  # one word each
BENCH_ONLY="B = 4; N = 4096" "build/grader/$lesson/bench" "$out/csv" "${BUDGET:-20}" $versions || exit 1
awk -F, -v OFS=, 'FILENAME == ARGV[1] { split($0, f, " "); spills[f[1] "," f[2]] = f[3]; next }
    FNR == 1 { for (c = 1; c <= NF; c++) at[$c] = c }
    { d = match($1, /d = [0-9]+/) ? substr($1, RSTART + 4, RLENGTH - 4) : "" }
    ($2 "," d) in spills && $at["outcome"] == "verified" {
        $at["outcome"] = "verified; spills " spills[$2 "," d] " bytes" }
    { print }' "$out/spills" "$out/csv" >"$csv"

printf '\nRecorded in %s\n\n' "$csv"
awk -f grader/make/tune_table.awk "$csv"
awk -v edit=1 -f grader/make/tune_table.awk "$csv" >"$out/edit"
[ -s "$out/edit" ] || {
    echo "No choice of tiles was right at B = 4; N = 4096: $header is as it was." >&2
    exit 1
}
sed -f "$out/edit" "$header" >"$out/tiles.h" && cp "$out/tiles.h" "$header"
printf '\nThe fastest are in %s now.\n' "$header"
