#!/bin/sh
# join.sh: how predictions and measurements are put side by side, on a made-up pair of launches: a
# test of measured.awk, compare.awk and summary.awk for machines without a GPU. Called by proof.sh
# check.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
loads=l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum
stores=l1tex__t_requests_pipe_lsu_mem_global_op_st.sum
atom=l1tex__t_requests_pipe_lsu_mem_global_op_atom.sum
red=l1tex__t_requests_pipe_lsu_mem_global_op_red.sum
conflicts=l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_ld.sum

# ncu's raw page: names with commas, numbers with commas, a line of units
ncu() {
    echo "\"ID\",\"Process ID\",\"Process Name\",\"Kernel Name\",\"$loads\",\"$stores\",\"$atom\",\"$red\",\"$conflicts\""
    echo '"","","","","request","request","request","request",""'
    echo "\"0\",\"7\",\"kernels\",\"void copy<float, 4>(float *)\",\"2,048\",\"$1\",\"0\",\"0\",\"0\""
    echo '"1","7","kernels","count(int *)","64","0","3","5","12"'
}
printf 'kernels,copy\nkernels,count\n' > launches
cat > predicted <<TEXT
kernels copy,$loads,2048
kernels copy,$stores,32
kernels count,$loads,64
kernels count,$atom+$red,8
TEXT
echo 'kernel,metric,predicted,measured,agrees,default_build,gpu,driver,cuda,date' > before
ncu 32 > apart.csv
ncu 8 > default.csv
for how in apart default; do
    awk -v how=$how -v machine="G,1,2,D" -v metrics="$loads $stores $atom $red $conflicts" -f "$here/measured.awk" launches $how.csv
done > measured
awk -F, -f "$here/compare.awk" predicted before measured > table
cat > wanted <<TEXT
kernel,metric,predicted,measured,agrees,default_build,gpu,driver,cuda,date
kernels copy,$loads,2048,2048,yes,2048,G,1,2,D
kernels copy,$stores,32,32,yes,8,G,1,2,D
kernels count,$loads,64,64,yes,64,G,1,2,D
kernels count,$atom+$red,8,8,yes,8,G,1,2,D
kernels count,$conflicts,0,12,no,12,G,1,2,D
TEXT
diff wanted table

# Without new measurements: what is predicted as before keeps its own, a kernel that changed has
# none.
sed 's/^\(kernels copy,.*\),32$/\1,31/' predicted > changed
: > none
awk -F, -v again=1 -f "$here/compare.awk" changed table none > kept
sed -e 's/^\(kernels copy,[^,]*,[0-9]*\),.*/\1,,not measured,,,,,/' -e 's/,32,,not/,31,,not/' wanted | diff - kept

echo 'bug,expected,ours,memcheck,racecheck,initcheck,synccheck,gpu,driver,cuda,date' > findings
echo 'b,race,yes,nothing,warns,nothing,hangs,G,1,2,D' >> findings
awk -F, -f "$here/summary.awk" table findings > said
grep -q '^counters.csv: 5 counters of 2 launches, 5 measured: G, driver 1, CUDA 2, D$' said
grep -q "^  kernels count  *$conflicts  *0  *12$" said
grep -qE "^  $stores +1 +1 +0 +0$" said
grep -qE '^  race +1 +1 +0 +0 \+1 +0 +0$' said

# A launch too many or too few means that the join is off.
printf 'kernels,copy\n' > launches
if awk -v how=apart -v machine=m -f "$here/measured.awk" launches apart.csv > off 2> said; then exit 1; fi
printf 'kernels,copy\nkernels,count\nkernels,more\n' > launches
if awk -v how=apart -v machine=m -f "$here/measured.awk" launches apart.csv > off 2> said; then exit 1; fi
