# figures.awk: a text with its figures as they are recorded. In a text, a figure stands behind a
# comment that says where it comes from, and before an empty one:
#     <!-- 02 gbytes_per_s, solution, 8192 x 4096 -->4068<!-- -->
# lesson, column, version and size of plots/data/GPU/LESSON.csv; a quotient of two has " / " between
# them. Of lesson 29's training the size is a model and, of tokens.csv, the GPUs: 124m x 2. Of what
# Nsight Compute counted, LESSON.counters.csv, column is whose kernel, version the counter, and the
# size "counters". The text is printed; a figure that no record has is an error.
# usage: awk -f figures.awk RECORD.csv... TEXT   the records first; their folders tell the GPU apart:
#                                                only the first one's count
BEGIN { FS = "," }
FILENAME ~ /[.]csv$/ {
    gpu = FILENAME
    sub(/\/[^\/]*$/, "", gpu)
    lesson = substr(FILENAME, length(gpu) + 2, 2)
    if (first == "") first = gpu
    if (gpu != first) next
    counted = FILENAME ~ /[.]counters[.]csv$/
    if (FNR == 1)
        for (c = 1; c <= NF; c++) name[c] = $c
    else if (counted)
        for (c = 1; c <= NF; c++) value[lesson, name[c], $1, "counters"] = $c
    else
        for (c = 1; c <= NF; c++) value[lesson, name[c], $2, $1 (name[3] == "gpus" ? " x " $3 : "")] = $c
    next
}
function recorded(what,    part) {
    split(substr(what, 4), part, /, /)
    if (!((substr(what, 1, 2), part[1], part[2], part[3]) in value)) {
        print FILENAME ":" FNR ": nothing is recorded for: " what > "/dev/stderr"
        failed = 1
        return 0
    }
    return value[substr(what, 1, 2), part[1], part[2], part[3]]
}
{
    line = ""
    rest = $0
    while (match(rest, /<!-- [0-9][0-9] [a-z_]+, [^>]* -->[^<]*<!-- -->/)) {
        figure = substr(rest, RSTART, RLENGTH)
        what = figure
        sub(/^<!-- /, "", what)
        sub(/ -->.*/, "", what)
        n = split(what, of, " / ")
        x = recorded(of[1])
        if (n == 2) {
            below = recorded(of[2])
            x = below == 0 ? 0 : x / below
        }
        shown = sprintf(x >= 100 ? "%.0f" : x >= 10 ? "%.1f" : n == 2 || x >= 1 ? "%.2f" : "%.3f", x)
        line = line substr(rest, 1, RSTART - 1) "<!-- " what " -->" shown "<!-- -->"
        rest = substr(rest, RSTART + RLENGTH)
    }
    print line rest
}
END { exit failed }
