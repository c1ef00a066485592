# recorded.awk: what limits each kernel, by the counters of the table before its cure, and how many
# times faster it became: grader/23_profiling/recorded.h.
#
#   awk -F, -f recorded.awk BEFORE AFTER
#
# The rules are those of the lesson's text. Exactly one has to hold for a kernel.
FNR == 1 {
    file++
    for (k = 2; k <= 7; k++) name[k] = $k
    next
}
{
    for (k = 2; k <= 7; k++) value[file, $1, k] = $k
    seen[file, $1]
}
file == 1 && FNR == 2 { gpu = $8 }

# v(ROW): of the kernel at hand, before its cure
function v(row) {
    if (!((1, row) in seen)) {
        print "recorded.awk: there is no row " row > "/dev/stderr"
        failed = 1
        exit 1
    }
    return value[1, row, k]
}
function may(holds, limiter) {
    if (holds) found[k] = found[k] (found[k] == "" ? "" : " ") limiter
}

END {
    if (failed) exit 1
    for (k = 2; k <= 7; k++) {
        active = v("Speed Of Light: SM Active Cycles") / v("Speed Of Light: Elapsed Cycles")
        issue = v("Compute: Issue Slots Busy (% of active cycles)")
        L1 = v("Speed Of Light: L1/TEX Cache Throughput (%)")
        L2 = v("Speed Of Light: L2 Cache Throughput (%)")
        DRAM = v("Speed Of Light: DRAM Throughput (%)")
        idle = L1 < 50 && L2 < 50 && DRAM < 50 && issue < 50
        waiting = v("Warp State: Stall Long Scoreboard (cycles)") > 0.8 * v("Warp State: Warp Cycles Per Issued Instruction")
        few = v("Occupancy: Theoretical Occupancy (%)") < 25
        may(DRAM > 85, "LIMITER_DRAM")
        may(active < 0.75, "LIMITER_TAIL")
        may(active >= 0.75 && issue > 80, "LIMITER_ISSUE")
        may(L1 > 85 && v("Memory Tables: sectors a global load request") > 8, "LIMITER_UNCOALESCED")
        may(L1 > 85 && v("Memory Tables: of them bank conflicts (million)") > v("Memory Tables: shared wavefronts (million)") / 2,
            "LIMITER_BANK_CONFLICTS")
        may(L2 > 60 && v("Memory: read from L2 by L1 (MB)") > 4 * v("Memory: read from DRAM (MB)"), "LIMITER_REDUNDANT_READS")
        may(idle && waiting && few && v("Occupancy: Block Limit Registers") < v("Occupancy: Block Limit Shared Mem"),
            "LIMITER_REGISTERS")
        may(idle && waiting && !few && v("Occupancy: Achieved Occupancy (%)") > 90, "LIMITER_IN_FLIGHT")
        if (found[k] == "" || found[k] ~ / /) {
            print "recorded.awk: " name[k] " is limited by " (found[k] == "" ? "nothing known" : found[k]) > "/dev/stderr"
            failed = 1
        }
    }
    if (failed) exit 1
    print "// recorded.h: what limits the six kernels of lesson 23, and how many times faster the cure made"
    print "// them on an " gpu ". record/record.sh makes it of the recorded tables."
    print "#ifndef RECORDED_H\n#define RECORDED_H\n\n#include \"profiling.h\"\n"
    print "static const struct recorded {"
    print "    enum profiling_limiter limiter;"
    print "    double speed_up;"
    print "} recorded[PROFILING_KERNELS] = {"
    for (k = 2; k <= 7; k++)
        printf "    [PROFILING_%s] = {%s, %.2f},\n", toupper(name[k]), found[k], value[1, "time (us)", k] / value[2, "time (us)", k]
    print "};\n\n#endif"
}
