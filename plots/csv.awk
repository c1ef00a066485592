# csv.awk: what the scripts beside it share. Reads recorded benches (plots/data/GPU/LESSON.csv) by
# the names of their columns, and writes what gnuplot reads.
#   awk -f plots/csv.awk -f plots/ladder.awk plots/data/GPU/LESSON.csv
BEGIN {
    FS = ","
    while ((getline quoted < "plots/headlines.txt") > 0)
        if (quoted ~ /^[0-9]/) headline[++headlines] = quoted
}
FNR == 1 {
    files++
    split("", column)
    for (c = 1; c <= NF; c++) column[$c] = c
    lesson = FILENAME
    sub(/\.csv$/, "", lesson)
    sub(/.*\//, "", lesson)
    next
}
# Only a bench has a GPU.
"gpu" in column {
    gpu[files] = of("gpu")
    machine[files] = gpu[files] ", driver " of("driver") ", CUDA " of("cuda")
    date[files] = of("date")
    if (date[files] < oldest || oldest == "") oldest = date[files]
    if (date[files] > newest) newest = date[files]
    if ("torch" in column && of("torch") != "") torch[files] = ", PyTorch " of("torch")
}

# of(NAME): this row's value in that column. A record without the column is not a bench.
function of(name) {
    if (!(name in column)) {
        printf "%s has no column \"%s\": record it again with make bench.\n", FILENAME, name >"/dev/stderr"
        failed = 1
        exit 1
    }
    return $(column[name])
}

# Where and when a file was measured.
function measured(file) { return machine[file] torch[file] ", " date[file] }

# number(LESSON): 14 of 14_flash_tensor_core; what is behind it
function number(lesson) { return substr(lesson, 1, 2) }
function called(lesson) { return substr(lesson, 4) }

# is_headline(LESSON, SIZE): its line in headlines.txt, or 0
function is_headline(lesson, size,    h) {
    for (h = 1; h <= headlines; h++)
        if (headline[h] == number(lesson) " " size) return h
    return 0
}

# by_bytes(): is this row nearer to the rate of a copy than to that of cuBLAS?
function by_bytes() {
    return of("tflops") == 0 || of("gbytes_per_s") / of("copy_gbytes_per_s") > of("tflops") / of("cublas_tflops")
}

function set(name, text) {
    gsub(/'/, "''", text)
    printf "%s = '%s'\n", name, text
}

# spread(y, n, gap, low, high): moves the n numbers of y, which rise, as little as may be (by
# squares) so that they are `gap` apart and between low and high: names beside the ends of lines.
function spread(y, n, gap, low, high,    i, k, g, v, sum, count) {
    # y[i] - i gap has to rise, no more: what falls is pooled to its mean.
    for (i = 1; i <= n; i++) {
        g++
        sum[g] = y[i] - i * gap
        count[g] = 1
        for (; g > 1 && sum[g - 1] / count[g - 1] > sum[g] / count[g]; g--) {
            sum[g - 1] += sum[g]
            count[g - 1] += count[g]
        }
    }
    for (i = n; g > 0; g--) {
        v = sum[g] / count[g]
        if (v > high - n * gap) v = high - n * gap
        if (v < low - gap) v = low - gap
        for (k = count[g]; k > 0; k--) {
            y[i] = v + i * gap
            i--
        }
    }
}

# digits(x): three of them
function digits(x) { return sprintf(x < 10 ? "%.2f" : x < 100 ? "%.1f" : "%.0f", x) }
