# gpu.sh: what bench.sh, compare.sh and tune.sh share; sourced by them.
# shellcheck shell=sh disable=SC2034  # used there
. grader/make/save.sh
nvcc=$(command -v nvcc || echo /usr/local/cuda/bin/nvcc)

# find_gpu: is there a GPU with nvcc? Sets gpu (its name, for a path), compute, and BENCH_DRIVER.
find_gpu() {
    found=$(nvidia-smi --query-gpu=name,driver_version,compute_cap --format=csv,noheader 2>/dev/null | head -n 1)
    [ -n "$found" ] && [ -x "$nvcc" ] || return
    gpu=$(echo "$found" | cut -d, -f1 | tr '[:upper:] ' '[:lower:]-')
    BENCH_DRIVER=$(echo "$found" | cut -d, -f2 | tr -d ' ')
    export BENCH_DRIVER
    compute=$(echo "$found" | cut -d, -f3 | tr -d ' .')
    [ "$compute" != 90 ] || compute=90a # Hopper's own instructions
}

# library LESSON FILE OUT FLAG...: compiles a version as a library, OUT.so; what nvcc says is in OUT.log.
library() {
    lesson_of=$1 file_of=$2 out_of=$3
    shift 3
    "$nvcc" -O3 -std=c++17 -gencode "arch=compute_$compute,code=sm_$compute" "$@" -Ilessons \
        "-Ilessons/$lesson_of" -shared -Xcompiler -fPIC "$file_of" -lcublas -o "$out_of.so" >"$out_of.log" 2>&1 ||
        echo "$file_of does not compile; see $out_of.log" >&2
}

# recorded ENDING LESSON...: the recorded figures as tables, of plots/data/GPU/LESSON.ENDING
recorded() {
    ending=$1 table=bench_table
    [ "$ending" != tiles.csv ] || table=tune_table
    shift
    echo "There is no GPU with nvcc here: these are recorded figures."
    for lesson; do
        found=0
        for csv in plots/data/*/"$lesson.$ending"; do
            [ -e "$csv" ] || continue
            found=1
            printf '\nLesson %s, %s\n\n' "$lesson" "$csv"
            awk -f grader/make/$table.awk "$csv"
        done
        [ "$found" = 1 ] || echo "Lesson $lesson: none are recorded."
    done
}

# files_of LESSON: the versions of a lesson in the order of the table, lines of FILE NAME.
files_of() {
    for file in solutions/"$1"/steps/*.cu "solutions/$1/${1#*_}.cu" grader/"$1"/peers/*.cu; do
        [ ! -e "$file" ] || echo "$file $(basename "$file" .cu | sed "s/^${1#*_}\$/solution/")"
    done
    mine=${FILE:-exercises/$1/${1#*_}.cu}
    stub "$1" | cmp -s - "$mine" || echo "$mine yours"
}

# prepare LESSON ENDING TARGET: makes build/grader/LESSON/TARGET and compiles the versions. Sets `versions`,
# NAME=LIBRARY.so each; csv, where the figures go; and out, a folder.
prepare() {
    out=build/bench/$1
    mkdir -p "$out" "plots/data/$gpu"
    make -s --no-print-directory "build/grader/$1/$3" || return
    rm -f "$out"/*.so
    files_of "$1" >"$out/versions"
    while read -r file version; do
        library "$1" "$file" "$out/$version" &
    done <"$out/versions"
    wait
    while read -r file version; do
        [ -e "$out/$version.so" ] || [ "$version" = yours ] || return 2 # a table without it would mislead
    done <"$out/versions"
    versions=$(while read -r file version; do
        [ ! -e "$out/$version.so" ] || echo "$version=$out/$version.so"
    done <"$out/versions")
    csv=plots/data/$gpu/$1.$2
    # Your own times are yours: they are not recorded; nor are some sizes only.
    case "$versions${BENCH_ONLY:+yours=}" in *yours=*) csv=$out/yours.$2 ;; esac
}
