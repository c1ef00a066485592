# measured.awk: ncu's table beside the names of the launches, as "how,kernel,metric,value,machine".
# Reads LAUNCHES ("program,name" in the order of the launches) and ncu's raw page as CSV. -v
# how=apart|default -v machine=gpu,driver,cuda,date -v metrics="NAME...": ncu adds some of its own
BEGIN {
    n = split(metrics, wanted, " ")
    for (i = 1; i <= n; i++) asked[wanted[i]] = 1
}
NR == FNR {
    program = $0
    sub(/,.*/, "", program)
    name = $0
    sub(/^[^,]*,/, "", name)
    launch[program, ++launches[program]] = name
    next
}

# fields in quotes; kernels' names have commas
function cut(line, field) {
    sub(/^"/, "", line)
    sub(/"\r?$/, "", line)
    return split(line, field, /","/)
}

/^"ID"/ {
    columns = cut($0, title)
    for (i = 1; i <= columns; i++) at[title[i]] = i
    next
}
/^"[0-9]+"/ {
    cut($0, field)
    program = field[at["Process Name"]]
    sub(/.*\//, "", program)
    if (!((program, ++seen[program]) in launch)) {
        print "measured.awk: " how ": " program " launched more than it names" > "/dev/stderr"
        failed = 1
        exit 1
    }
    for (i = 1; i <= columns; i++) {
        if (!(title[i] in asked) || field[i] == "" || field[i] ~ /n\/a/) continue
        value = field[i]
        gsub(/,/, "", value)
        printf "%s,%s %s,%s,%.0f,%s\n", how, program, launch[program, seen[program]], title[i], value, machine
    }
}
END {
    if (failed) exit 1
    for (program in launches)
        if (seen[program] != launches[program]) {
            print "measured.awk: " how ": " program " named " launches[program] " launches, ncu saw " \
                seen[program] + 0 > "/dev/stderr"
            exit 1
        }
}
