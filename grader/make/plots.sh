#!/bin/sh
# plots.sh: what `make plots` does: draws what is recorded in plots/data/ into plots/svg/, puts the
# table of times between <!-- latency --> and <!-- /latency --> of README.md, and draws your own
# runs (build/bench/LESSON/yours.csv) over the recorded ones into build/plots/. A line for each
# file.
# usage: plots.sh    with, in the environment,
#   GPU=nvidia-a100   draws what is recorded in plots/data/nvidia-a100/, into build/plots/nvidia-a100/
#   PNG=1             draws everything as PNG as well, into build/plots/
#   DATA=traffic      counts plots/data/cpu-device/traffic.csv again first (a minute)
command -v gnuplot >/dev/null || {
    echo "make plots draws with gnuplot, which is not installed: apt-get install gnuplot-nox (or sh setup.sh --dev)" >&2
    exit 2
}
# Without a UTF-8 locale gnuplot warns of signs that it cannot convert.
export LC_ALL=C.UTF-8
course=nvidia-h200 # whose figures the texts show
gpu=${GPU:-$course}
if [ "$gpu" = $course ]; then to=plots/svg; else to=build/plots/$gpu; fi
[ -d "plots/data/$gpu" ] || {
    echo "Nothing is recorded in plots/data/$gpu. GPU= can be:" >&2
    for folder in plots/data/*/; do basename "$folder" | sed '/^cpu-device$/d; s/^/  /'; done >&2
    exit 2
}
traffic=plots/data/cpu-device/traffic.csv
mkdir -p "$to" build/plots || exit 2
figures=$(mktemp) || exit 2
trap 'rm -f "$figures" "$figures.svg"' EXIT

case ${DATA:-} in
'') ;;
traffic)
    sh grader/make/traffic.sh 64 128 256 512 1024 2048 >"$figures" || exit 1
    cp "$figures" $traffic && echo $traffic
    ;;
*)
    echo "DATA=$DATA: traffic is all that is counted here; make bench records the rest." >&2
    exit 2
    ;;
esac

# In a browser that is set to dark the plot is light on dark, in the same hues.
dark='<style>@media (prefers-color-scheme: dark) { svg { filter: invert(0.93) hue-rotate(180deg); } }</style>'
status=0
# draw SCRIPT FILE ARGUMENT...: plots/SCRIPT.awk makes figures of the arguments, plots/SCRIPT.gp
# draws them.
draw() {
    script=$1 file=$2
    shift 2
    awk -f plots/csv.awk -f "plots/$script.awk" "$@" >"$figures"
    case $? in
    0) ;;
    3) return ;; # there is nothing to draw
    *)
        echo "$file is not drawn: see above" >&2
        status=1
        return
        ;;
    esac
    # A screen reader says the title.
    title=$(sed -n "s/^title = '\(.*\)'\$/\1/p" "$figures" | sed "s/''/'/g; s/&/\\\\\\&amp;/g; s/</\\\\\\&lt;/g")
    if gnuplot -e "out = '$figures.svg'" "$figures" plots/style.gp "plots/$script.gp" &&
        sed "s|<title>Gnuplot</title>|<title>$title</title>\\n$dark|" "$figures.svg" >"$file"; then
        echo "$file"
    else
        status=1
    fi
    [ -z "${PNG:-}" ] || {
        png=build/plots/$(basename "$file" .svg).png
        gnuplot -e "out = '$png'" "$figures" plots/style.gp "plots/$script.gp" && echo "$png" || status=1
    }
}

# recorded: the benches of this GPU, without their tiles and counters
recorded() {
    for csv in "plots/data/$gpu"/[0-9][0-9]_*.csv; do
        case ${csv##*/} in *.*.csv) ;; *) [ ! -e "$csv" ] || echo "$csv" ;; esac
    done
}

for csv in $(recorded); do
    lesson=$(basename "$csv" .csv)
    draw ladder "$to/ladder_${lesson%%_*}.svg" "$csv"
    draw ladder "$to/own_${lesson%%_*}.svg" own=1 "$csv"
    for d in 64 128; do draw sweep "$to/sweep_${lesson%%_*}_d$d.svg" d=$d "$csv"; done
done
# shellcheck disable=SC2046  # one word each
draw roofline "$to/roofline.svg" $(recorded)
draw traffic "$to/traffic.svg" $traffic
# lesson 23's kernels as they are given; and cured, of which the student edition has no figures
given=plots/data/$gpu/23_profiling.counters.csv cured=plots/data/$gpu/23_profiling.after.csv
[ ! -e "$given" ] || draw cures "$to/given_23.svg" "$given"
[ ! -e "$cured" ] || draw cures "$to/cures_23.svg" "$given" "$cured"
# lesson 29's training beside PyTorch's (grader/train/peers.py), one with too short a warm-up, and
# a step's kernels (grader/train/shares.awk)
for record in tokens losses spikes kernels; do
    csv=plots/data/$gpu/29_train_gpt.$record.csv what=$record
    [ $record != kernels ] || what=shares
    [ ! -e "$csv" ] || draw $what "$to/${what}_29.svg" "$csv"
done

for csv in build/bench/*/yours.csv; do
    [ -e "$csv" ] || {
        echo "No yours_*.svg is drawn: make bench has not timed a kernel of yours on this machine."
        continue
    }
    lesson=$(basename "$(dirname "$csv")")
    reference=plots/data/$gpu/$lesson.csv
    [ -e "$reference" ] || {
        echo "$csv is not drawn: there is no $reference to draw it over" >&2
        continue
    }
    draw ladder "build/plots/yours_${lesson%%_*}.svg" "$reference" "$csv"
    for d in 64 128; do draw sweep "build/plots/yours_${lesson%%_*}_d$d.svg" d=$d "$reference" "$csv"; done
done

if [ "$gpu" = $course ] && grep -q '^<!-- latency -->$' README.md; then
    for lesson in 14_flash_tensor_core 16_flash_backward_split 25_hopper_flash 26_hopper_backward; do
        echo "plots/data/$gpu/$lesson.csv"
    done | xargs awk -f plots/csv.awk -f plots/latency.awk >"$figures" || exit 1
    sed -e "/^<!-- latency -->\$/r $figures" -e '/^<!-- latency -->$/,/^<!-- \/latency -->$/{/^<!--/!d;}' README.md >"$figures.svg"
    cmp -s "$figures.svg" README.md || { cp "$figures.svg" README.md && echo README.md; }
fi
exit $status
