# programs.sh: what is predicted and measured. Sourced, not run.
# shellcheck shell=sh

# One program a line: its name, its lesson or -, its sources. Each names its launches (launched.h).
programs() {
    tests=grader/cpu/test
    echo "counters - $tests/watch/counters.cu"
    echo "kernels - $tests/hardware/kernels.cu"
    while read -r lesson kernel; do
        name=${lesson#*_}
        file=solutions/$lesson/$kernel.cu
        case $kernel in right/*) file=grader/$lesson/$kernel.cu ;; esac
        echo "${lesson%%_*}_$(basename "$kernel") $lesson $tests/hardware/lessons/$name.cu $file"
    done <<TEXT
02_transpose transpose
02_transpose steps/2_tiled
02_transpose steps/1_naive
03_reduction reduction
03_reduction steps/3_warp_tree
03_reduction steps/2_shared_tree
05_tiled_matmul tiled_matmul
05_tiled_matmul steps/1_coalesced
05_tiled_matmul right/double_buffer
05_tiled_matmul right/async_copies
10_online_softmax online_softmax
10_online_softmax steps/3_one_block
12_flash_forward flash_forward
12_flash_forward steps/2_one_thread_row
TEXT
}

# What Nsight Compute is asked for. The table's names are these; a sum has a + between the two.
metrics() {
    for op in ld st ldgsts; do  # the last one is cp.async
        echo "smsp__sass_data_bytes_mem_global_op_$op.sum"
        at=l1tex_
        [ $op != ldgsts ] || at=sm__sass_l1tex
        echo "${at}_t_requests_pipe_lsu_mem_global_op_$op.sum"
        echo "${at}_t_sectors_pipe_lsu_mem_global_op_$op.sum"
    done
    # "sass": what an instruction costs, without the collisions of different warps
    for op in ld st ldgsts ldsm; do  # the last one is ldmatrix
        executed=smsp__sass_inst_executed_op_$op conflicts=smsp__sass_l1tex_data_bank_conflicts
        case $op in
        ld | st) executed=smsp__sass_inst_executed_op_shared_$op conflicts=l1tex__data_bank_conflicts ;;
        ldsm) executed=smsp__inst_executed_op_ldsm ;;
        esac
        echo "smsp__sass_data_bytes_mem_shared_op_$op.sum"
        echo "$executed.sum"
        echo "smsp__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_$op.sum"
        echo "${conflicts}_pipe_lsu_mem_shared_op_$op.sum"
    done
    echo "sm__inst_executed_pipe_tensor_op_hmma.sum"  # mma.sync
    for op in atom red; do
        echo "l1tex__t_requests_pipe_lsu_mem_global_op_$op.sum"
        echo "l1tex__t_sectors_pipe_lsu_mem_global_op_$op.sum"
    done
    echo "smsp__inst_executed_op_shared_atom.sum"
    echo "lts__t_sectors_srcunit_tex_op_write.sum"
    echo "lts__t_sectors_srcunit_tex_op_read.sum"
    echo "dram__bytes_read.sum"
}
