#!/bin/sh
# plots.sh: make plots draws the repository's plots from the recorded figures, and every plot is
# legible; from planted figures it draws what they say and no more. Needs what `make ready` builds.
# usage: plots.sh   (77: a tool is missing)
# shellcheck disable=SC2016  # awk's own $
. grader/test/tell.sh
. grader/make/chromium.sh
need "the plots" gnuplot xmllint chromium

# In a copy, where figures can be planted.
root=$(pwd -P)
out=$root/build/test/plots
rm -rf "$out" && mkdir -p "$out/grader/make" || exit 2
cp -r plots README.md "$out" && cp grader/make/plots.sh "$out/grader/make" && cd "$out" || exit 2
data=plots/data/nvidia-h200
forward=$data/14_flash_tensor_core.csv

# rows CSV PROGRAM: awk over the rows of a record; $at["kind"] is the column of that name
rows() {
    awk -F, -v OFS=, "NR == 1 { for (c = 1; c <= NF; c++) at[\$c] = c; print; next } $2" "$1"
}
draws() { # draws NAME: make plots, of what is there now, in a folder svg.NAME
    rm -rf plots/svg "svg.$1"
    sh grader/make/plots.sh >said 2>&1
    code=$?
    cp -r plots/svg "svg.$1"
    return $code
}
# lacks FILE.svg NAME...: those of the names that are no text in the plot
lacks() {
    plot=$1
    shift
    for name; do grep -qF "<text>$name</text>" "$plot" || echo "$(basename "$plot"): $name"; done
}
none() { # none NAME WHAT: a test that is passed if WHAT is empty
    if [ -z "$2" ]; then tell ok "$1"; else tell FAIL "$1" "$2"; fi
}

# ---- the plots of the repository -------------------------------------------------------------

if draws now; then tell ok "all figures are drawn"; else tell FAIL "all figures are drawn" "$(cat said)"; fi
# graded.svg is a picture of a terminal (make texts).
by=$(sed -n 's/^<desc>Produced by GNUPLOT \(.*\) <\/desc>$/\1/p' "$root/plots/svg/roofline.svg")
if [ "gnuplot $by" = "$(gnuplot --version)" ]; then
    expect "plots/svg holds what make plots draws now" diff -rq -x graded.svg "$root/plots/svg" svg.now
else
    tell skip "plots/svg to the byte" "it was drawn by gnuplot $by, and this is $(gnuplot --version)"
    expect "plots/svg holds a plot for each that make plots draws" sh -c "ls -I graded.svg '$root/plots/svg' >a; ls svg.now >b; diff a b"
fi
expect "README.md holds the table that make plots makes" cmp "$root/README.md" README.md
expect "the table has the recorded milliseconds" \
    grep -qF "| $(rows $forward 'NR == 2 { next } $at["size"] == "B = 1; N = 4096; d = 128" && $at["version"] == "SDPA cuDNN" {
        printf "SDPA cuDNN | %.3f |", $at["median_ms"] }' | tail -n 1)" README.md
for text in "$root"/lessons/*/README.md "$root"/lessons/*/answers.md; do
    text=${text#"$root"/}
    ! grep -q '<!-- [0-9][0-9] ' "$root/$text" ||
        expect "$text: its figures are those that are recorded (FIGURES=only make texts)" sh -c "
            cd '$root' && sh grader/make/figures.sh $text | cmp - $text"
done
expect "every plot is well-formed" xmllint --noout plots/svg/*.svg

unnamed=$(
    for csv in "$data"/[0-9][0-9]_*.csv; do
        lesson=$(basename "$csv" .csv)
        case $lesson in *.*) continue ;; esac
        plot=plots/svg/ladder_${lesson%%_*}.svg
        size=$(sed -n 's/<title>.*, every version: \(.*\)<\/title>/\1/p' "$plot")
        rows "$csv" 'index("'"$size"' and ", $at["size"] " and ") { print $at["version"] }' | sed 1d >names
        [ -s names ] || echo "$plot: $size"
        while read -r name; do lacks "$plot" "$name"; done <names
        plot=plots/svg/own_${lesson%%_*}.svg
        [ ! -e "$plot" ] || {
            rows "$csv" '$at["kind"] ~ /^(step|solution)$/ { print $at["version"] }' | sed 1d | sort -u >names
            while read -r name; do lacks "$plot" "$name"; done <names
        }
        for plot in plots/svg/sweep_"${lesson%%_*}"_d*.svg; do
            [ -e "$plot" ] || continue
            d=$(basename "$plot" .svg)
            rows "$csv" '$at["size"] ~ /N = 8192; d = '"${d##*_d}"'(;|$)/ && $at["outcome"] == "verified" { print $at["version"] }' |
                sed 1d | sort -u >names
            while read -r name; do lacks "$plot" "$name"; done <names
        done
        grep -q "<text>${lesson%%_*} ${lesson#*_}[ :]" plots/svg/roofline.svg || echo "roofline.svg: $lesson"
    done
    lacks plots/svg/traffic.svg "1_naive, through L2" "1_naive, device memory" "solution, through L2" "solution, device memory"
)
none "every version stands by name in its ladder and curves, every lesson in the roofline" "$unnamed"

# A size of headlines.txt that the record has stands in its ladder; in the roofline the first.
unquoted=$(
    sed -n 's/^\([0-9][0-9]\) /\1,/p' plots/headlines.txt | while IFS=, read -r lesson size; do
        grep -q "^$size," "$data/${lesson}"_*[a-z].csv || echo "headlines.txt: lesson $lesson has no $size"
        lacks "plots/svg/ladder_$lesson.svg" "$size" >said
        grep -q "<title>.*every version: .*$size" "plots/svg/ladder_$lesson.svg" || cat said
    done
)
none "the sizes that texts and decks quote are in the ladders" "$unquoted"
expect "decoding, which memory bounds, is told in GB/s" sh -c "grep -q '<text>[0-9]* GB/s (' plots/svg/ladder_17.svg &&
    grep -q '<text>17 gqa decoding: [0-9]* GB/s, ' plots/svg/roofline.svg"
dark() { grep -LE '<style>@media .prefers-color-scheme: dark' "$@" | grep -v graded.svg; }
none "every plot has a dark variant" "$(dark plots/svg/*.svg)"

# measure SVG...: "plots N" and a line for each text that is too small, leaves its plot or lies on
# another
measure() {
    {
        for plot; do sed "1d; s|^<svg|<svg id='$(basename "$plot" .svg)' style='display: block'|" "$plot"; done
        echo '<script>'
        cat "$root/grader/test/plots/measure.js"
        echo '</script>'
    } >page.html
    chromium_run --dump-dom "$(file_url page.html)" | sed -n '/<pre>/,/<\/pre>/{s/.*<pre>//;s/<\/pre>.*//;p;}'
}
measured=$(measure plots/svg/*.svg)
if [ "$measured" = "plots $(find plots/svg -name '*.svg' | wc -l)" ]; then
    tell ok "every text can be read: 16 pixels at least, none leaves its plot or lies on another"
else
    tell FAIL "every text can be read" "$measured"
fi
sed 's|^</svg>|<text x="300" y="9">one</text><text x="310" y="12">two</text><text x="940" y="99">three</text>\
<text x="400" y="9" font-size="12">four</text></svg>|' plots/svg/ladder_05.svg >planted.svg
measured=$(measure planted.svg)
for fault in '"one" lies on "two"' 'leaves the plot: "three"' 'letters of 12 pixels: "four"'; do
    case $measured in
    *"$fault"*) tell ok "found in a planted plot: $fault" ;;
    *) tell FAIL "found in a planted plot: $fault" "$measured" ;;
    esac
done

# ---- planted figures -------------------------------------------------------------------------

# planted NAME PROGRAM: draws with lesson 14's record changed by this program
cp $forward kept.csv
planted() {
    rows kept.csv "$2" >$forward && draws "$1" || tell FAIL "planted: $1" "$(cat said)"
    cp kept.csv $forward
}
no_figures='for (c = at["median_ms"]; c <= at["tflops"]; c++) $c = ""; $at["outcome"] = "out of memory"'
of_curve='$at["size"] == "B = 4; N = 4096; d = 128" && $at["version"] == "SDPA cuDNN"'
planted memory "$of_curve { $no_figures } { print }"
planted without "$of_curve { next } { print }"
expect "a point that ran out of memory is as if it were not there" cmp svg.memory/sweep_14_d128.svg svg.without/sweep_14_d128.svg
expect "without it the curves differ" sh -c "! cmp -s svg.now/sweep_14_d128.svg svg.memory/sweep_14_d128.svg"
planted ladder '$at["version"] == "SDPA cuDNN" { '"$no_figures"' } { print }'
bars() { grep -c '<polygon' "svg.$1/ladder_14.svg"; }
none "it is a text in the ladder" "$(lacks svg.ladder/ladder_14.svg "SDPA cuDNN" "out of memory")"
expect "and no bar" [ "$(bars ladder)" = $(($(bars now) - 1)) ]
for csv in "$data"/[0-9][0-9]_*.csv; do
    awk -F, '{ for (c = NF; c > 0; c--) printf "%s%s", $c, (c > 1 ? "," : "\n") }' "$csv" >reversed && cp reversed "$csv"
done
draws reversed
expect "columns are found by their names" diff -rq svg.now svg.reversed
rm -rf "$data" && cp -r "$root/$data" $data
sed '1s/,kind,/,sort,/' kept.csv >$forward
expect "a record of another kind is an error that names the column" \
    sh -c "! sh grader/make/plots.sh 2>&1 | grep -q . && exit 1; sh grader/make/plots.sh 2>&1 | grep -q '14_flash_tensor_core.csv has no column \"kind\"'"
cp kept.csv $forward

# ---- a run of one's own ----------------------------------------------------------------------

mkdir -p build/bench/14_flash_tensor_core build/bench/05_tiled_matmul
other='$at["gpu"] = "NVIDIA A100"; $at["cublas_tflops"] = 250'
rows kept.csv '$at["kind"] ~ /step|solution/ { '"$other"'; print }
    $at["kind"] == "solution" { $at["kind"] = $at["version"] = "yours"; $at["tflops"] = 123.4; print }' \
    >build/bench/14_flash_tensor_core/yours.csv
rows $data/05_tiled_matmul.csv '{ print }' >build/bench/05_tiled_matmul/yours.csv
expect "yours is drawn" sh grader/make/plots.sh
mine=build/plots/yours_14
none "yours stands beside the recorded ladder" \
    "$(lacks ${mine}.svg "yours, here" "123 (49 %)" "solution, here" solution "SDPA cuDNN" "1_shared")"
none "and among the recorded curves" "$(lacks ${mine}_d64.svg yours "SDPA cuDNN"; lacks ${mine}_d128.svg yours "SDPA cuDNN")"
for plot in $mine.svg ${mine}_d128.svg; do
    expect "$plot: both GPUs, yours in colour, the recorded in grey" sh -c "grep -q 'recorded on NVIDIA H200.*here, NVIDIA A100' $plot &&
        grep -qi -e '#D55E00' -e '213, *94, *0' $plot && ! grep -qi -e '#009E73' -e ' 0, *158, *115' $plot && xmllint --noout $plot"
done
expect "the repository's plots stay as they are" diff -rq svg.now plots/svg
expect "a record without yours draws nothing, and says so" \
    sh -c '[ ! -e build/plots/yours_05.svg ] && sh grader/make/plots.sh 2>&1 | grep -q "05_tiled_matmul/yours.csv: no size has a time of yours"'
expect "PNG=1 draws PNG files" sh -c 'PNG=1 sh grader/make/plots.sh | grep -qx build/plots/sweep_14_d64.png &&
    head -c 4 build/plots/sweep_14_d64.png | grep -q PNG'

# ---- lesson 29's training, whose figures grader/train/peers.py writes -------------------------

spot="NVIDIA H200,580.159.04,13.0"
cat >$data/29_train_gpt.tokens.csv <<END
model,version,gpus,texts,tokens,steps,median_ms,low_ms,high_ms,tokens_per_s,loss,held_out,gpu,driver,cuda,torch,date
124m,the course,1,16,1024,200,50.000,49.9,50.1,327680,2.3,2.4,$spot,,2026-11-29
124m,the course,2,16,1024,200,25.000,24.9,25.1,655360,2.3,2.4,$spot,,2026-11-29
124m,eager,1,16,1024,200,100.000,99,101,163840,2.3,,$spot,2.11.0,2026-11-29
tiny,the course,1,4,32,200,1,1,1,1,2.3,,$spot,,2026-11-29
END
awk 'BEGIN { print "step,ours,eager,torch.compile"
    for (i = 1; i <= 200; i++) { x = 2 + 9 * exp(-i / 20); print i "," x "," 1.002 * x "," 0.999 * x } }' >$data/29_train_gpt.losses.csv
if draws train; then tell ok "the training's figures are drawn"; else tell FAIL "the training's figures are drawn" "$(cat said)"; fi
none "tokens a second: of one GPU, of two, of PyTorch, by name" "$(lacks svg.train/tokens_29.svg \
    "the course" "the course, 2 GPUs" eager "328 (100 %), 50.0 ms" "655 (200 %), 25.0 ms" "164 (50 %), 100.0 ms")"
none "loss curves: each by its name" "$(lacks svg.train/losses_29.svg "the course" eager torch.compile "percent above the course")"
measured=$(measure svg.train/tokens_29.svg svg.train/losses_29.svg)
if [ "$measured" = "plots 2" ]; then tell ok "they can be read"; else tell FAIL "they can be read" "$measured"; fi
sed -i '/^124m,the course,1,/d' $data/29_train_gpt.tokens.csv
draws alone
expect "without one GPU's row there is nothing to compare with" sh -c '! test -e svg.alone/tokens_29.svg'

# ---- what is said ----------------------------------------------------------------------------

expect "a GPU of which nothing is recorded" sh -c 'GPU=abacus sh grader/make/plots.sh 2>&1 | grep -qx "  nvidia-h200"'
expect "other DATA" sh -c 'DATA=all sh grader/make/plots.sh 2>&1 | grep -q "traffic is all that is counted here"'
expect "no gnuplot" sh -c 'PATH=/nowhere /bin/sh grader/make/plots.sh 2>&1 | grep -q "apt-get install gnuplot-nox"'

# ---- memory traffic --------------------------------------------------------------------------

cd "$root" || exit 2
counts=plots/data/cpu-device/traffic.csv
make -s --no-print-directory ready
sh grader/make/traffic.sh 64 128 256 >"$out/counted"
expect "$counts holds what the CPU device counts now" sh -c "
    [ \$(wc -l <'$out/counted') = 7 ] && ! grep -vxFf $counts '$out/counted'"
{
    sed -n '/^BLOCK = /p; /^[a-z_0-9]*(N) = /p' plots/traffic.gp
    rows $counts '{ name = $at["version"] == "1_naive" ? "naive" : "flash"
        printf "d = %d; print %s_device(%d) == %s && %s_l2(%d) == %s\n", $at["d"], name, $at["N"], $at["device_bytes"], name, $at["N"], $at["l2_bytes"] }' |
        sed 1d
} >"$out/formulas.gp"
gnuplot "$out/formulas.gp" >"$out/equal" 2>&1
expect "the formulas of plots/traffic.gp give every count" sh -c "grep -q 1 '$out/equal' && ! grep -vx 1 '$out/equal'"
finish
