# traffic.awk: figures for traffic.gp, of plots/data/cpu-device/traffic.csv: a block for each
# version.
of("version") != last {
    printf last == "" ? "$counted << END\n" : "\n\n"
    last = of("version")
}
{
    printf "%d\t%s\t%s\n", of("N"), of("device_bytes"), of("l2_bytes")
    d = of("d")
}
END {
    if (failed) exit 1
    printf "END\nd = %d; height = 540\n", d
    set("title", "12 flash_forward: bytes of global memory against N, d = " d)
    set("subtitle", "one head, fp16; points: counted by the CPU device, lines: by formula")
}
