# gpu.sh: what is done with nvcc and a GPU, or without. Sourced, not run.
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

# library LESSON FILE OUT FLAG...: compiles a version as a library, OUT.so; what nvcc says is in
# OUT.log. A library that is newer than all its sources stays.
library() {
    lesson_of=$1 file_of=$2 out_of=$3
    shift 3
    [ ! -e "$out_of.so" ] ||
        [ -n "$(find "$file_of" lessons/*.h "lessons/$lesson_of" grader/make/gpu.sh -newer "$out_of.so")" ] || return 0
    rm -f "$out_of.so"
    "$nvcc" -O3 -std=c++17 -gencode "arch=compute_$compute,code=sm_$compute" "$@" -Ilessons \
        "-Ilessons/$lesson_of" -shared -Xcompiler -fPIC "$file_of" -lcublas -lcublasLt -o "$out_of.so" >"$out_of.log" 2>&1 ||
        echo "$file_of does not compile; see $out_of.log" >&2
}

# turn COMMAND...: in the background, as many at a time as there are processors; `wait` waits for
# the last ones.
turns=0
turn() {
    "$@" &
    turns=$((turns + 1))
    [ $((turns % $(nproc))) != 0 ] || wait
}

# recorded ENDING LESSON...: the recorded figures as tables, of plots/data/GPU/LESSON.ENDING
recorded() {
    ending=$1 table=bench_table
    case $ending in tiles*) table=tune_table ;; esac
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
