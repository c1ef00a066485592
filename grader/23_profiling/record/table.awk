# table.awk: a table of lesson 23: what Nsight Compute counted of the six kernels, and their times.
#
#   awk -v machine=GPU,DRIVER,CUDA,DATE -f table.awk WORK TIMES RAW
#
# WORK, TIMES: what `record work` and `record time` printed; RAW: ncu's raw page as CSV, with the
# launches in that order. A line of the table is a section of ncu's report and a name as it stands
# there, and a number for each kernel; what has no section was measured by CUDA events, without ncu.

# fields in quotes; kernels' names and numbers have commas
function cut(line, field) {
    sub(/^"/, "", line)
    sub(/"\r?$/, "", line)
    return split(line, field, /","/)
}

# of(METRIC, k): of kernel k; a metric that ncu does not have ends the program
function of(metric, k) {
    if (!(metric in at)) {
        print "table.awk: ncu did not count " metric > "/dev/stderr"
        failed = 1
        exit 1
    }
    return value[k, at[metric]]
}

# three digits, and whole numbers as they are
function shown(x) {
    return x >= 1000 || x == int(x) ? sprintf("%.0f", x) : x >= 100 ? sprintf("%.0f", x) : x >= 10 ? sprintf("%.1f", x) : sprintf("%.2f", x)
}

# row(NAME, METRIC, UNIT): divided by a unit
function row(name, metric, unit,    k, line) {
    line = name
    for (k = 1; k <= kernels; k++) line = line "," shown(of(metric, k) / unit)
    print line "," machine
}

# quotient(NAME, METRIC, METRIC): 0 of 0 is 0
function quotient(name, above, below,    k, line) {
    line = name
    for (k = 1; k <= kernels; k++) line = line "," shown(of(below, k) ? of(above, k) / of(below, k) : 0)
    print line "," machine
}

function sum(name, one, other, unit,    k, line) {
    line = name
    for (k = 1; k <= kernels; k++) line = line "," shown((of(one, k) + of(other, k)) / unit)
    print line "," machine
}

/^kernel,/ { file++; next }
file == 1 || file == 2 {
    split($0, part, ",")
    if (file == 1) {
        bytes[part[1]] = part[2]
        operations[part[1]] = part[3]
        next
    }
    ms[part[1]] = part[2]
    if (part[1] != "copy") name[++names] = part[1]
    if (part[1] == "copy") file = 3
    next
}
/^"ID"/ {
    columns = cut($0, title)
    for (i = 1; i <= columns; i++) at[title[i]] = i
    next
}
/^"[0-9]+"/ {
    cut($0, field)
    kernels++
    if (index(field[at["Kernel Name"]], name[kernels] "_kernel") != 1) {
        print "table.awk: launch " kernels " is not " name[kernels] > "/dev/stderr"
        failed = 1
        exit 1
    }
    for (i = 1; i <= columns; i++) {
        gsub(/,/, "", field[i])
        value[kernels, i] = field[i]
    }
}
END {
    if (failed) exit 1
    if (kernels != names || names != 6) {
        print "table.awk: " kernels " launches and " names " times, not six" > "/dev/stderr"
        exit 1
    }
    line = "counter"
    for (k = 1; k <= kernels; k++) line = line "," name[k]
    print line ",gpu,driver,cuda,date"
    line = "time (us)"
    for (k = 1; k <= kernels; k++) line = line "," shown(1000 * ms[name[k]])
    print line "," machine
    line = "bytes that have to be moved (MB)"
    for (k = 1; k <= kernels; k++) line = line "," shown(bytes[name[k]] / 1e6)
    print line "," machine
    line = "operations of the task (million)"
    for (k = 1; k <= kernels; k++) line = line "," shown(operations[name[k]] / 1e6)
    print line "," machine
    line = "rate of a copy (GB/s)"
    for (k = 1; k <= kernels; k++) line = line "," shown(bytes["copy"] / ms["copy"] / 1e6)
    print line "," machine
    pct = ".avg.pct_of_peak_sustained_elapsed"
    row("Speed Of Light: Duration (us)", "gpu__time_duration.sum", 1000)
    row("Speed Of Light: Compute (SM) Throughput (%)", "sm__throughput" pct, 1)
    row("Speed Of Light: Memory Throughput (%)", "gpu__compute_memory_throughput" pct, 1)
    row("Speed Of Light: L1/TEX Cache Throughput (%)", "l1tex__throughput.avg.pct_of_peak_sustained_active", 1)
    row("Speed Of Light: L2 Cache Throughput (%)", "lts__throughput" pct, 1)
    row("Speed Of Light: DRAM Throughput (%)", "dram__throughput" pct, 1)
    row("Speed Of Light: Elapsed Cycles", "sm__cycles_elapsed.max", 1)
    row("Speed Of Light: SM Active Cycles", "sm__cycles_active.avg", 1)
    row("Compute: Issue Slots Busy (% of active cycles)", "smsp__issue_active.avg.pct_of_peak_sustained_active", 1)
    row("Memory: read from DRAM (MB)", "dram__bytes_read.sum", 1e6)
    row("Memory: written to DRAM (MB)", "dram__bytes_write.sum", 1e6)
    row("Memory: read from L2 by L1 (MB)", "l1tex__m_xbar2l1tex_read_bytes.sum", 1e6)
    row("Memory: L1/TEX Hit Rate (%)", "l1tex__t_sector_hit_rate.pct", 1)
    row("Memory: L2 Hit Rate (%)", "lts__t_sector_hit_rate.pct", 1)
    row("Memory Tables: global load requests (million)", "l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum", 1e6)
    quotient("Memory Tables: sectors a global load request", "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum",
        "l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum")
    quotient("Memory Tables: sectors a global store request", "l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum",
        "l1tex__t_requests_pipe_lsu_mem_global_op_st.sum")
    shared = "_pipe_lsu_mem_shared_op_"
    sum("Memory Tables: shared wavefronts (million)", "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum",
        "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_st.sum", 1e6)
    sum("Memory Tables: of them bank conflicts (million)", "l1tex__data_bank_conflicts" shared "ld.sum",
        "l1tex__data_bank_conflicts" shared "st.sum", 1e6)
    row("Memory Tables: global atomic requests (million)", "l1tex__t_requests_pipe_lsu_mem_global_op_red.sum", 1e6)
    row("Scheduler: Active Warps Per Scheduler", "smsp__warps_active.avg.per_cycle_active", 1)
    row("Scheduler: Eligible Warps Per Scheduler", "smsp__warps_eligible.avg.per_cycle_active", 1)
    row("Warp State: Warp Cycles Per Issued Instruction", "smsp__average_warp_latency_per_inst_issued.ratio", 1)
    stall = "smsp__average_warps_issue_stalled_"
    ratio = "_per_issue_active.ratio"
    row("Warp State: Stall Long Scoreboard (cycles)", stall "long_scoreboard" ratio, 1)
    row("Warp State: Stall Short Scoreboard (cycles)", stall "short_scoreboard" ratio, 1)
    row("Warp State: Stall LG Throttle (cycles)", stall "lg_throttle" ratio, 1)
    row("Warp State: Stall MIO Throttle (cycles)", stall "mio_throttle" ratio, 1)
    row("Warp State: Stall Barrier (cycles)", stall "barrier" ratio, 1)
    row("Warp State: Stall Not Selected (cycles)", stall "not_selected" ratio, 1)
    row("Warp State: Avg. Active Threads Per Warp", "smsp__thread_inst_executed_per_inst_executed.ratio", 1)
    row("Launch: Grid Size (blocks)", "launch__grid_size", 1)
    row("Launch: Block Size (threads)", "launch__block_size", 1)
    row("Launch: Registers Per Thread", "launch__registers_per_thread", 1)
    row("Launch: Static Shared Memory Per Block (bytes)", "launch__shared_mem_per_block_static", 1)
    row("Launch: Waves Per SM", "launch__waves_per_multiprocessor", 1)
    row("Occupancy: Block Limit Registers", "launch__occupancy_limit_registers", 1)
    row("Occupancy: Block Limit Shared Mem", "launch__occupancy_limit_shared_mem", 1)
    row("Occupancy: Block Limit Warps", "launch__occupancy_limit_warps", 1)
    row("Occupancy: Theoretical Occupancy (%)", "sm__maximum_warps_per_active_cycle_pct", 1)
    row("Occupancy: Achieved Occupancy (%)", "sm__warps_active.avg.pct_of_peak_sustained_active", 1)
}
