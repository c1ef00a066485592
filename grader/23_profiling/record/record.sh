#!/bin/sh
# record.sh: takes the tables of lesson 23 on a GPU: the six kernels before and after their cure.
#
#   record.sh measure RAW   needs a GPU, nvcc and ncu: builds, times by CUDA events, then Nsight
#                           Compute; everything they say goes to the folder RAW
#   record.sh table RAW     makes the tables of what is in RAW: plots/data/GPU/23_profiling.counters.csv,
#                           the kernels as they are given, and .after.csv, cured; and recorded.h
#   record.sh check         recorded.h is what the tables say
# Runs from anywhere.
set -u
here=$(cd "$(dirname "$0")" && pwd) || exit 2
root=$(cd "$here/../../.." && pwd) || exit 2
export LC_ALL=C
usage="usage: record.sh measure RAW | table RAW | check"
fail() {
    echo "record.sh: $*" >&2
    exit 1
}

# What ncu is asked for: whole sections of its report, and what the sections leave out.
sections="SpeedOfLight ComputeWorkloadAnalysis MemoryWorkloadAnalysis MemoryWorkloadAnalysis_Tables SchedulerStats
    WarpStateStats InstructionStats LaunchStats Occupancy WorkloadDistribution"
metrics() {
    cat <<TEXT
gpu__time_duration.sum
dram__bytes_read.sum
dram__bytes_write.sum
dram__throughput.avg.pct_of_peak_sustained_elapsed
lts__throughput.avg.pct_of_peak_sustained_elapsed
l1tex__throughput.avg.pct_of_peak_sustained_active
l1tex__data_pipe_lsu_wavefronts.sum
l1tex__data_pipe_lsu_wavefronts.avg.pct_of_peak_sustained_elapsed
l1tex__data_pipe_lsu_wavefronts_mem_shared.sum
l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum
l1tex__data_pipe_lsu_wavefronts_mem_shared_op_st.sum
l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_ld.sum
l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_st.sum
l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum
l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum
l1tex__t_requests_pipe_lsu_mem_global_op_st.sum
l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum
l1tex__m_xbar2l1tex_read_bytes.sum
l1tex__t_sector_hit_rate.pct
lts__t_sector_hit_rate.pct
lts__t_sectors_srcunit_tex_op_read.sum
lts__t_sectors_srcunit_tex_op_write.sum
smsp__inst_executed.sum
smsp__inst_executed_op_shared_ld.sum
smsp__inst_executed_op_shared_st.sum
smsp__inst_executed_op_local_ld.sum
smsp__inst_executed_op_local_st.sum
smsp__issue_active.avg.pct_of_peak_sustained_active
smsp__issue_active.avg.pct_of_peak_sustained_elapsed
smsp__warps_active.avg.per_cycle_active
smsp__warps_eligible.avg.per_cycle_active
smsp__sass_thread_inst_executed_op_fadd_pred_on.sum
smsp__sass_thread_inst_executed_op_fmul_pred_on.sum
smsp__sass_thread_inst_executed_op_ffma_pred_on.sum
sm__cycles_active.avg
sm__cycles_active.max
sm__cycles_active.min
sm__cycles_elapsed.max
sm__throughput.avg.pct_of_peak_sustained_elapsed
sm__warps_active.avg.pct_of_peak_sustained_active
TEXT
}

measure() {
    nvcc=$(command -v nvcc || echo /usr/local/cuda/bin/nvcc)
    ncu=$(command -v ncu || echo /usr/local/cuda/bin/ncu)
    if [ ! -x "$nvcc" ] || [ ! -x "$ncu" ]; then fail "nvcc and ncu are needed, and a GPU"; fi
    [ -d "$root/solutions" ] || fail "the student edition has no cured kernels to record"
    mkdir -p "$1" && raw=$(cd "$1" && pwd) || exit 1
    solutions=$root/solutions/23_profiling
    # the last columns of the tables: gpu,driver,cuda,date
    echo "$(nvidia-smi --query-gpu=name,driver_version --format=csv,noheader | head -n 1 | sed 's/, */,/'),$(
        "$nvcc" --version | sed -n 's/.*release \([0-9.]*\),.*/\1/p'),$(date -u +%Y-%m-%d)" > "$raw/machine"
    cat "$raw/machine"
    "$ncu" --version | tail -n 1 > "$raw/ncu"
    flags="-O3 -std=c++17 -arch=sm_90a -lineinfo -Werror all-warnings -I $root/lessons -I $root/lessons/23_profiling -I $here"
    for how in before after; do
        kernels="$here/before.cu $solutions/steps/1_read_only.cu"
        [ $how = before ] || kernels="$solutions/read/after.cu $solutions/profiling.cu"
        # shellcheck disable=SC2086  # lists of words
        "$nvcc" $flags "$here/record.cu" $kernels -o "$raw/$how" || fail "nvcc refused a kernel"
        "$raw/$how" work > "$raw/work.csv" || fail "$how does not run"
        "$raw/$how" check || fail "$how: a kernel is wrong"
        "$raw/$how" time > "$raw/$how.time.csv" || fail "$how: a kernel is wrong"
        nvidia-smi --query-gpu=clocks.sm,clocks.mem,power.draw,temperature.gpu --format=csv > "$raw/$how.clocks"
        cat "$raw/$how.time.csv"
    done
    "$ncu" --query-metrics 2> /dev/null | awk '{ print $1 }' > "$raw/known"
    all=$(for metric in $(metrics); do
        if grep -qx "${metric%%.*}" "$raw/known"; then
            echo "$metric"
        else
            echo "record.sh: ncu does not have $metric" >&2
        fi
    done | paste -sd, -)
    for how in before after; do
        set --
        for section in $sections; do
            "$ncu" --list-sections 2> /dev/null | grep -qw "$section" && set -- "$@" --section "$section"
        done
        [ -z "$all" ] || set -- "$@" --metrics "$all"
        "$ncu" --clock-control none "$@" -f -o "$raw/$how" "$raw/$how" once > "$raw/$how.log" 2>&1 ||
            tail -n 5 "$raw/$how.log" >&2
        for page in raw details; do
            "$ncu" -i "$raw/$how.ncu-rep" --page $page --csv --print-units base > "$raw/$how.$page.csv"
        done
        "$ncu" -i "$raw/$how.ncu-rep" --page details > "$raw/$how.details.txt"
        wc -c "$raw/$how".*
    done
    rm "$raw/before" "$raw/after" "$raw/known"
}

# recorded DIR: recorded.h, of the tables in DIR
recorded() {
    awk -F, -f "$here/recorded.awk" "$1/23_profiling.counters.csv" "$1/23_profiling.after.csv"
}

table() {
    machine=$(cat "$1/machine")
    data=$root/plots/data/$(echo "${machine%%,*}" | tr 'A-Z ' 'a-z-')
    mkdir -p "$data" && new=$(mktemp) || exit 1
    for how in before after; do
        to=$data/23_profiling.counters.csv
        [ $how = before ] || to=$data/23_profiling.after.csv
        awk -v machine="$machine" -f "$here/table.awk" "$1/work.csv" "$1/$how.time.csv" "$1/$how.raw.csv" > "$new" ||
            exit 1
        cp "$new" "$to" && echo "$to"
    done
    recorded "$data" > "$new" && cp "$new" "$here/../recorded.h" && rm "$new" && echo grader/23_profiling/recorded.h
}

check() {
    recorded "$root/plots/data/nvidia-h200" | diff "$here/../recorded.h" -
}

case ${1:-} in
table) table "${2:?$usage}" ;;
check) check ;;
measure) measure "${2:?$usage}" ;;
*) fail "$usage" ;;
esac
