# shares.awk: what a step of `make train` spends its time on: a row for each kind of kernel, from
# what Nsight Compute says of a few steps. Into plots/data/GPU/29_train_gpt.kernels.csv:
#   DEVICE=cuda make train MODEL=124m STEPS=3 OUT=build/profile
#   ncu --clock-control none --cache-control none --metrics gpu__time_duration.sum --csv --log-file build/profile/ncu.csv \
#       build/train/cuda/program --model 124m --text build/train/text --out build/profile/ncu --steps 3
#   awk -f grader/train/shares.awk -v gpu='NVIDIA H200' -v driver=580.159.04 -v cuda=13.0 -v date=2026-11-28 build/profile/ncu.csv
BEGIN {
    # kind, and the names of its kernels
    kinds = split("products:matmul_kernel linear_kernel split_kernel add_slices_kernel transpose_kernel;" \
        "attention:flash_kernel flash_tensor_core_kernel;" \
        "attention backward:backward_kernel before_kernel after_kernel delta_kernel dq_kernel dkv_kernel;" \
        "cross-entropy:row_kernel count_kernel mean_kernel;" \
        "norms:add_norm_kernel layer_norm_kernel layer_norm_backward_kernel;" \
        "GELU:layer_gelu_kernel linear_backward_kernel;" \
        "sums of columns:layer_columns_kernel layer_chunks_kernel;" \
        "rounding:layer_round_kernel;" \
        "embeddings:embed_kernel embed_tokens_kernel embed_places_kernel;" \
        "AdamW:adamw_kernel", kind, ";")
    for (k = 1; k <= kinds; k++) {
        split(kind[k], part, ":")
        kind[k] = part[1]
        names[k] = part[2]
    }
    # of the products: 6 rows parameters
    tflop = 6 * 16 * 1024 * (12 * 12 * 768 ^ 2 + 50304 * 768) / 1e12
}
# kind_of(KERNEL): the one with the longest name that ends it
function kind_of(kernel,    k, n, i, name, longest, found) {
    for (k = 1; k <= kinds; k++) {
        n = split(names[k], name, " ")
        for (i = 1; i <= n; i++)
            if (length(name[i]) > longest && substr(kernel, length(kernel) - length(name[i]) + 1) == name[i]) {
                longest = length(name[i])
                found = k
            }
    }
    return found
}
/^"/ {
    fields = split(substr($0, 2, length($0) - 2), field, /","/)
    if (field[1] == "ID") {
        for (f = 1; f <= fields; f++) at[field[f]] = f
        next
    }
    kernel = field[at["Kernel Name"]]
    sub(/[<(].*/, "", kernel)
    sub(/^void /, "", kernel)
    k = kind_of(kernel)
    if (!k) {
        print FILENAME ": " kernel " is no kernel that is known here" > "/dev/stderr"
        exit failed = 1
    }
    # A step begins with its embedding, and what is held out was before.
    if (kernel == "embed_kernel") { split("", ms); split("", launches) }
    gsub(/,/, "", field[at["Metric Value"]])
    ms[k] += field[at["Metric Value"]] / 1e6
    launches[k]++
    if (kernel == "adamw_kernel")
        for (k = 1; k <= kinds; k++) { step_ms[k] = ms[k]; step_launches[k] = launches[k] }
}
END {
    if (failed) exit 1
    for (k = 1; k <= kinds; k++) all += step_ms[k]
    if (!all) {
        print "no step ends in what was read: adamw_kernel is missing" > "/dev/stderr"
        exit 1
    }
    print "model,kernels,launches,ms,share,tflops,gpu,driver,cuda,date"
    for (k = 1; k <= kinds; k++)
        printf "124m,%s,%d,%.3f,%.4f,%s,%s,%s,%s,%s\n", kind[k], step_launches[k], step_ms[k], step_ms[k] / all, \
            k == 1 ? sprintf("%.1f", 1e3 * tflop / step_ms[k]) : "", gpu, driver, cuda, date
}
