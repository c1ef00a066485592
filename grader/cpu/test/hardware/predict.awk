# predict.awk: from what the programs print on the CPU device to lines "kernel,metric,predicted", in
# the order of the launches. Metrics that are 0 are left out. -v program=NAME
BEGIN {
    # cp.async ("ldgsts"), as ncu calls it where it has a name of its own
    for (i = split("requests sectors", what, " "); i > 0; i--) {
        metric = "_t_" what[i] "_pipe_lsu_mem_global_op_"
        told["l1tex_" metric "ldgsts.sum"] = "sm__sass_l1tex" metric "ldgsts.sum"
        also["l1tex_" metric "ldgsts.sum"] = "l1tex_" metric "ld.sum"  # counts them as well
    }
    metric = "data_bank_conflicts_pipe_lsu_mem_shared_op_"
    also["smsp__sass_l1tex_" metric "ldsm.sum"] = "l1tex__" metric "ld.sum"  # and those of ldmatrix
    # The compiler takes "red" for an atomic whose result is not used: only the sum can be
    # predicted.
    g = "_pipe_lsu_mem_global_op_"
    told["cudev__atomic_global_requests"] = "l1tex__t_requests" g "atom.sum+l1tex__t_requests" g "red.sum"
    told["cudev__atomic_global_sectors"] = "l1tex__t_sectors" g "atom.sum+l1tex__t_sectors" g "red.sum"
    told["cudev__atomic_shared_requests"] = "smsp__inst_executed_op_shared_atom.sum"
    # Caches are not modelled; these are what one without a hit (writes), or with every hit, would
    # move.
    told["cudev__distinct_read_sectors_by_block"] = "lts__t_sectors_srcunit_tex_op_read.sum"
    told["cudev__distinct_read_sectors"] = "dram__bytes_read.sum"
}

function tell(metric, value) {
    if (!value) return
    if (!((kernel, metric) in sum)) order[++metrics] = kernel SUBSEP metric
    sum[kernel, metric] += value
}

/^launch,/ {
    kernel = program " " substr($0, 8)
    next
}
# a row of the kernel as a whole: file, line, array and size are empty
/,,,,,[a-z]/ {
    n = split($0, field, ",")
    metric = field[n - 1]
    value = field[n]
    if (metric ~ /^cudev__/ && !(metric in told)) next
    if (metric in also) tell(also[metric], value)
    tell(metric in told ? told[metric] : metric, metric == "cudev__distinct_read_sectors" ? 32 * value : value)
    if (metric == "l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum")
        tell("lts__t_sectors_srcunit_tex_op_write.sum", value)
}
END {
    for (i = 1; i <= metrics; i++) {
        split(order[i], field, SUBSEP)
        print field[1] "," field[2] "," sum[order[i]]
    }
}
