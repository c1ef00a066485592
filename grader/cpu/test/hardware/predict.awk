# predict.awk: from what the programs print on the CPU device to lines "kernel,metric,predicted", in
# the order of the launches. Metrics that are 0 are left out. -v program=NAME
BEGIN {
    # one name for both sides; "ldgsts" is cp.async
    split("ld st ldgsts", op, " ")
    n = split("smsp__sass_data_bytes_mem_global_op_OP l1tex__t_requests_pipe_lsu_mem_global_op_OP " \
        "l1tex__t_sectors_pipe_lsu_mem_global_op_OP smsp__sass_data_bytes_mem_shared_op_OP " \
        "smsp__sass_inst_executed_op_shared_OP l1tex__data_pipe_lsu_wavefronts_mem_shared_op_OP " \
        "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_OP", shape, " ")
    for (i = 1; i <= n; i++)
        for (k = 1; k <= 3; k++) {
            metric = shape[i] ".sum"
            sub(/OP/, op[k], metric)
            sub(/op_shared_ldgsts/, "op_ldgsts", metric)
            told[metric] = metric
            # these are Nsight Compute's for cp.async
            if (metric ~ /_t_.*ldgsts/) sub(/^l1tex__/, "sm__sass_l1tex_", told[metric])
        }
    # ldmatrix and mma.sync
    n = split("smsp__sass_data_bytes_mem_shared_op_ldsm smsp__inst_executed_op_ldsm " \
        "sm__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_ldsm " \
        "sm__sass_l1tex_data_bank_conflicts_pipe_lsu_mem_shared_op_ldsm " \
        "sm__inst_executed_pipe_tensor_op_hmma", shape, " ")
    for (i = 1; i <= n; i++) told[shape[i] ".sum"] = shape[i] ".sum"
    # The compiler takes "red" for an atomic whose result is not used: only the sum can be predicted.
    g = "_pipe_lsu_mem_global_op_"
    told["cudev__atomic_global_requests"] = "l1tex__t_requests" g "atom.sum+l1tex__t_requests" g "red.sum"
    told["cudev__atomic_global_sectors"] = "l1tex__t_sectors" g "atom.sum+l1tex__t_sectors" g "red.sum"
    told["cudev__atomic_shared_requests"] = "smsp__inst_executed_op_shared_atom.sum"
    # Caches are not modelled; these are what one without a hit (writes), or with every hit, would move.
    told["cudev__distinct_read_sectors_by_block"] = "lts__t_sectors_srcunit_tex_op_read.sum"
    told["cudev__distinct_read_sectors"] = "dram__bytes_read.sum"
}

function tell(metric, value) {
    if (value + 0) print kernel "," metric "," value
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
    if (!(metric in told)) next
    tell(told[metric], metric == "cudev__distinct_read_sectors" ? 32 * value : value)
    if (metric == "l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum")
        tell("lts__t_sectors_srcunit_tex_op_write.sum", value)
}
