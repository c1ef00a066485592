#!/bin/sh
# nvcc.sh: every .cu compiles for sm_80 and sm_90a without a warning. What compiled once and has not
# changed since is not compiled again.
# usage: nvcc.sh LESSON...
. grader/test/tell.sh
. grader/make/file.sh
nvcc=$(command -v nvcc || echo /usr/local/cuda/bin/nvcc)
if [ ! -x "$nvcc" ]; then
    tell skip "nvcc" "is not installed: the kernels were not compiled for a GPU"
    finish
    exit
fi
done=build/test/nvcc
mkdir -p "$done"
version=$("$nvcc" --version | tail -n 1)
for lesson; do
    has_kernel "$lesson" || continue
    headers=$(cat lessons/*.h "lessons/$lesson"/*.h)
    sh grader/test/wrong.sh list "$lesson" >"$done/wrong" || exit 1
    for file in "solutions/$lesson"/*.cu "solutions/$lesson"/steps/*.cu "exercises/$lesson"/*.cu \
        "grader/$lesson"/right/*.cu $(cat "$done/wrong"); do
        [ -e "$file" ] || continue # no steps, say
        key=$({ echo "$version$headers"; cat "$file"; } | sha256sum | cut -c1-32)
        [ -e "$done/$key" ] || echo "$lesson $file $key"
    done
done >"$done/jobs"
# With all lessons: also what is compared with a GPU word by word, every function of ptx.h.
file=grader/cpu/test/hardware/instructions.cu
key=$({ echo "$version"; cat lessons/ptx.h "$file"; } | sha256sum | cut -c1-32)
[ $# = 1 ] || [ -e "$done/$key" ] || echo "- $file $key" >>"$done/jobs"
# And a kernel that calls all of the teaching headers.
file=grader/test/exploits/control_taught_stages.cu
key=$({ echo "$version"; cat lessons/*.h "$file"; } | sha256sum | cut -c1-32)
[ $# = 1 ] || [ -e "$done/$key" ] || echo "17_gqa $file $key" >>"$done/jobs"
cat >"$done/one.sh" <<TEXT
# Speed is for the solutions; of the others only what the compiler says of the device code matters. A wrong kernel
# is an edit of one of these: as far as PTX, which is what the compiler proper makes.
real=sm_
case \$2 in
solutions/*) how=-c ;;
*/wrong/*) how="-fatbin -Xcicc -O0" real=compute_ ;;
*) how="-fatbin -Xcicc -O0 -Xptxas -O0" ;;
esac
if said=\$("$nvcc" \$how -std=c++17 -Werror all-warnings -gencode arch=compute_80,code=\${real}80 \\
    -gencode arch=compute_90a,code=\${real}90a -Ilessons "-Ilessons/\$1" "\$2" -o "$done/\$3.o" 2>&1)
then : >"$done/\$3"; else echo "FAIL  nvcc \$2: \$said"; fi
rm -f "$done/\$3.o"
TEXT
xargs -r -P "$(nproc)" -L 1 sh "$done/one.sh" <"$done/jobs" >"$done/said"
cat "$done/said"
if [ -s "$done/said" ]; then failed=$((failed + $(grep -c '^FAIL' "$done/said"))); else
    tell ok "nvcc: every .cu compiles for sm_80 and sm_90a ($(wc -l <"$done/jobs") compiled now)"
fi
# The benches run on a GPU only; they compile everywhere.
for lesson; do
    [ ! -e "grader/$lesson/bench.c" ] ||
        expect "$lesson bench compiles" make -s --no-print-directory "build/grader/$lesson/bench"
done
finish
