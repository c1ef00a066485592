#!/bin/sh
# interface.sh: what a person can type, and get wrong. Runs make in copies of the course, so that
# nobody's exercises are touched.
# usage: interface.sh      SAMPLE="96 WORD" in the environment: see "cold"
. grader/test/tell.sh
lesson=01_vector_add
file=exercises/$lesson/vector_add.cu
root=$(pwd -P)
top=$(mktemp -d "${TMPDIR:-/tmp}/interface test.XXXXXX") || exit 1
trap 'rm -rf "$top"' EXIT

# A clone in a path with spaces, with what is built here already, and an origin to update from. What
# is not committed yet is tested too. The files have their times here, which git is told: make
# builds again what it would build here, and nothing that a checkout has only looked at.
git init -q -b main "$top/origin"
copy_course "$top/origin"
(cd "$top/origin" && git add -A && git -c user.name=t -c user.email=t@t commit -qm now)
git clone -q -n "$top/origin" "$top/my clone"
copy_course "$top/my clone"
cd "$top/my clone" || exit 1
git reset -q
git config user.name t
git config user.email t@t
export COURSE_WITHOUT_NVCC=1
# The first command may be make run or make install-cpu: they make the folder that holds the lock.
if said=$(sh grader/make/ready.sh any 2>&1) && [ -d build ] && [ "$said" = "Building the CPU device (once, about 10 s)" ] &&
    [ "$(grep -B 1 'flock build/.lock.*(RUN_ANY)' Makefile | grep -c 'ready.sh any')" = 2 ]; then
    tell ok "make run and make install-cpu may come first"
else
    tell FAIL "make run and make install-cpu may come first" "$said"
fi
cp -rp "$root/build/grader" "$root/build/cpu" "$root"/build/*.a build/ 2>/dev/null

# says STATUS TEXT COMMAND...: the command ends with this status (! for any but 0) and prints TEXT.
says() {
    want=$1 text=$2
    shift 2
    output=$("$@" 2>&1)
    status=$?
    if [ "$want" = '!' ] && [ "$status" = 0 ]; then
        tell FAIL "$name" "exit 0: $output"
    elif [ "$want" != '!' ] && [ "$status" != "$want" ]; then
        tell FAIL "$name" "exit $status, want $want: $output"
    elif ! printf '%s\n' "$output" | grep -qF -- "$text"; then
        tell FAIL "$name" "does not say \"$text\": $output"
    else
        tell ok "$name"
    fi
}

name="make prints the commands" says 0 "make grade LESSON=12" make
make >help.txt
missing=
for target in $(sed -n '/^.PHONY:/,/^.SECONDARY:/p' Makefile | tr -cs 'a-z0-9-' ' '); do
    case $target in help | tools | trainers | library | ready | units | fuzzers | analyzed | whole | lesson | clean) continue ;; esac
    grep -q "^make.* $target\b" help.txt || missing="$missing $target(make)"
    grep -q "^| .make.*\b$target\b" README.md || missing="$missing $target(README.md)"
done
if [ -z "$missing" ]; then tell ok "make and README.md list every command"; else
    tell FAIL "make and README.md list every command" "$missing"
fi
name="a path with spaces, by number" says 0 "Score: 100/100" make grade LESSON=1 FROM=solutions
name="by name" says 0 "Score: 8/8" make grade LESSON=vector_add FROM=solutions CASE='n = 0'
name="a folder misspelled" says 2 "FROM= is exercises or solutions" make grade LESSON=1 FROM=solution
name="untouched stub" says ! "Score: 0/100" make grade LESSON=01
name="unknown lesson" says ! "There is no lesson 99" make grade LESSON=99
said_last() { make -s grade LESSON=99 2>&1 | grep -v '^make: ' | tail -n 1 | grep -qx "There is no lesson 99."; }
expect "... behind the list of those there are" said_last
for target in mutate-grader test-gpu; do
    name="unknown lesson for $target" says ! "There is no lesson 99" make -s $target LESSON=99
done
# What make would pass over in silence.
while IFS='|' read -r words text; do
    # shellcheck disable=SC2086  # words
    name="make $words" says 2 "$text" make $words
done <<'TYPOS'
grade lesson=12|lesson= is nothing that make knows here; did you mean LESSON=?
grade LESSON=12 CAS=bad|CAS= is nothing that make knows here; did you mean CASE=?
grade zebra=1|zebra= is nothing that make knows here; README.md lists
grade 12|write LESSON=12: make grade LESSON=12
12|write LESSON=12: make grade LESSON=12
watch flash_forward|write LESSON=flash_forward: make watch LESSON=flash_forward
grade LESSON=|LESSON= is empty
grades LESSON=5|make grades: there is no such command; did you mean make grade?
zebra|make zebra: there is no such command; make alone lists them
hint LESSON=5 CAUSE=nonsense|CAUSE=nonsense: there is no such cause. Lesson 05_tiled_matmul has hints
TYPOS
# shellcheck disable=SC2016  # a backquote is meant
documented=$(grep -hoE '(^|[ `])make [a-z-]+( [A-Z_]+=[^ `|]*)+' README.md CONTRIBUTING.md lessons/INSTRUCTORS.md |
    grep -oE '\b[A-Z_]+=' | tr -d '=' | sort -u | tr '\n' ' ')
expect "what the texts pass to make is known" test -n "$documented" -a -z "$(sh grader/make/typos.sh grade "$documented" '')"
name="unknown deck" says 2 "There is no deck 99. The decks are:" make -s slides DECK=99
name="no lesson for hint" says ! "Say which lesson" make hint
name="missing file" says ! "nowhere.cu does not exist" make grade LESSON=1 FILE=nowhere.cu
name="and which file is the exercise" says 2 "The exercise is exercises/01_vector_add/vector_add.cu;" \
    make grade LESSON=1 FILE=vector_add.cu
name="a name that a terminal would obey" says 2 'x?[31m??.cu does not exist' \
    build/grader/01_vector_add/check "$(printf 'x\033[31m\302\233.cu')"
printf 'no C\n' >-dash.cu
name="a name that begins with a dash" says ! "-dash.cu does not compile" make grade LESSON=1 FILE=-dash.cu
name="a TMPDIR that there is not" says ! "in /nowhere: No such file or directory; TMPDIR= names another place" \
    env TMPDIR=/nowhere make grade LESSON=1 FROM=solutions CASE='n = 0'
name="make run of a kernel without main()" says 2 "is a kernel of lesson 01_vector_add, without main()" \
    make -s run FILE="solutions/$lesson/vector_add.cu"
printf '%s\n' '#include <stdio.h>' '#include "vector_add.h"' \
    'int main() { float a = 1, b = 2, c = 0; return vector_add(&c, &a, &b, 1) || printf("sum %g\n", c) < 0; }' >mine.cu
name="and with one" says 0 "sum 3" make -s run FILE="solutions/$lesson/vector_add.cu mine.cu"
name="a directory" says ! "is a directory" make grade LESSON=1 FILE=lessons
mkfifo fifo
name="a FIFO" says ! "is not a regular file" timeout 20 make grade LESSON=1 FILE=fifo
head -c 2000000 /dev/zero >big.cu
name="a huge file" says ! "larger than 1 MiB" make grade LESSON=1 FILE=big.cu
name="unknown device" says ! "DEVICE=tpu: unknown device; cpu or cuda" make grade LESSON=1 DEVICE=tpu
full() { "$@" >/dev/full; }
name="a result that a full disk swallows" says 2 "the result could not be written: No space left" \
    full make grade LESSON=1 FROM=solutions CASE='n = 0' FORMAT=json
closed() { "$@" >&-; }
name="or that nobody takes" says 3 "the result could not be written" \
    closed build/grader/$lesson/check solutions/$lesson/vector_add.cu --device cpu --case 'n = 0'
name="POSIXLY_CORRECT in the environment" says 0 "Score: 8/8" \
    env POSIXLY_CORRECT=1 make grade LESSON=1 FROM=solutions CASE='n = 0'
# Limits of the shell under which right kernels would fail: raised, or refused. Never points.
limited() { # limited ULIMIT-OPTION VALUE COMMAND...
    (
        ulimit "$1" "$2"
        shift 2
        "$@"
    )
}
for limit in '-n 20' '-v 400000' '-t 30'; do
    # shellcheck disable=SC2086  # two words
    output=$(limited $limit make grade LESSON=1 FROM=solutions CASE='n = 0' 2>&1)
    if printf '%s\n' "$output" | grep -q "Score: 8/8\|\`ulimit ${limit% *}\` has to"; then
        tell ok "ulimit $limit takes no points"
    else
        tell FAIL "ulimit $limit takes no points" "$output"
    fi
done
name="not a seed" says ! "SEED=abc: not a seed; a number from 0 to" make grade LESSON=1 SEED=abc
name="no such case" says ! "matches no item" make grade LESSON=1 CASE=zebra
name="unknown format" says ! "FORMAT=xml: unknown format; text, json or problems" make grade LESSON=1 FORMAT=xml
name="unknown isolation level" says ! "ISOLATION=box: bubblewrap, userid or limits" \
    make grade LESSON=1 ISOLATION=box
if [ "$(make -s grade SEED=abc 2>/dev/null)$(make -s grade SEED=abc 2>&1 >/dev/null | grep -v '^make')" = \
    "SEED=abc: not a seed; a number from 0 to 18446744073709551615 is expected" ]; then
    tell ok "said once, and without a usage text"
else
    tell FAIL "said once, and without a usage text" "$(make -s grade SEED=abc 2>&1)"
fi
if make -s grade LESSON=1 FILE=nowhere.cu 2>&1 | grep -q "Score\|Log\|device"; then
    tell FAIL "a missing file is all that is said" "$(make -s grade LESSON=1 FILE=nowhere.cu 2>&1)"
else
    tell ok "a missing file is all that is said"
fi
if [ ! -e /dev/nvidiactl ]; then
    name="no GPU" says ! "DEVICE=cuda needs" make grade LESSON=1 DEVICE=cuda
fi
name="one case" says 0 "Only the items that match" make grade LESSON=1 FROM=solutions CASE="n = 0"
name="whatever its letters' case" says 0 "Only the items that match" make grade LESSON=1 FROM=solutions CASE="N = 0"
name="one case of all lessons" says 0 "01_vector_add" make grade FROM=solutions CASE="stays allocated"

printf '#include "vector_add.h"\nint x = ;\n' >broken.cu
# What is wrong stands at the end again, in three lines.
cat >ends.awk <<'AWK'
{ line[NR] = $0 }
END { exit !(line[NR - 2] ~ cause && line[NR - 1] ~ place && line[NR] ~ item) }
AWK
ends() { # ends CAUSE LINE ITEM COMMAND...: regular expressions that the last three lines match
    cause=$1 place=$2 item=$3
    shift 3
    "$@" 2>/dev/null | awk -v cause="^Cause: .*$cause" -v place="^Line: .*$place" -v item="^Item: .*$item" -f ends.awk
}
sed 's/^ *__syncthreads.*//' solutions/05_tiled_matmul/tiled_matmul.cu >races.cu
make -s grade LESSON=5 FILE=races.cu >races.txt 2>/dev/null
expect "a report ends with the cause, the line and the item" ends '[[]race[]]$' 'line 39 reads' ' different [(]9 others' cat races.txt
begin=$(grep -n 'your code goes here' exercises/02_transpose/transpose.cu | head -n 1 | cut -d: -f1)
expect "that of an untouched stub says where to begin" ends '[[]never_written[]]$' \
    "transpose.cu:$begin: .your code goes here., begin there" ' tall and wide [(]10 others' make -s grade LESSON=2
{ cat races.cu && echo '// your code goes here'; } >gap.cu
expect "that of no points and a gap that is left, too" ends '[[]never_written[]]$' \
    "gap.cu:$(wc -l <gap.cu): .your code goes here., begin there" ' different ' make -s grade LESSON=5 FILE=gap.cu
expect "of some items beside a finding, that something is not written yet" ends '[[]race[]]$' \
    "line 39 reads; line $(wc -l <gap.cu) still says .your" ' different' make -s grade LESSON=5 FILE=gap.cu CASE=different
expect "that of a file that does not compile, too" ends '[[]compile_error[]]$' 'broken.cu:2:9: error: ' 'none was run' make -s grade LESSON=1 FILE=broken.cu
name="a compiler error names the student's line" says ! "broken.cu:2:" make grade LESSON=1 FILE=broken.cu
name="also in JSON" says ! 'broken.cu:2:9: error: ' sh -c 'make -s grade LESSON=1 FILE=broken.cu FORMAT=json 2>/dev/null'
compiler_in_report() {
    make -s grade LESSON=1 FILE=broken.cu 2>said.txt >report.txt
    ! grep error: said.txt && sed -n '/^broken.cu does not compile$/{n;p}' report.txt | grep -q '^broken.cu:2:9: error: ' &&
        ! grep "Not checked" report.txt
}
expect "and stands in the report, under what it means" compiler_in_report
if make -s profile LESSON=1 FILE=broken.cu 2>&1 | grep -q Score; then
    tell FAIL "no score for a profile"
else
    tell ok "no score for a profile"
fi
printf '#include "vector_add.h"\n' >empty.cu
name="no launcher" says ! "does not define vector_add()" make grade LESSON=1 FILE=empty.cu
cp "solutions/$lesson/vector_add.cu" "my kernel's file.cu"
name="a file name with spaces and a quote" says 0 "Score: 8/8" \
    make grade LESSON=1 FILE="my kernel's file.cu" CASE='n = 0'

# The same seed gives the same numbers; JSON stands alone on stdout.
one=$(make -s grade LESSON=1 SEED=7 FORMAT=json 2>/dev/null | sed '/"seconds"/d')
two=$(make -s grade LESSON=1 SEED=7 FORMAT=json 2>/dev/null | sed '/"seconds"/d')
if [ -n "$one" ] && [ "$one" = "$two" ]; then tell ok "a seed replays"; else
    tell FAIL "a seed replays" "$one / $two"
fi
first=$(printf '%s' "$one" | head -c 1)
if [ "$first" = '{' ]; then tell ok "JSON stands alone"; else tell FAIL "JSON stands alone" "$one"; fi
make -s grade LESSON=1 FROM=solutions CASE='n = 0' >plain.txt 2>&1
if grep -q "$(printf '\033')" plain.txt; then tell FAIL "plain in a pipe"; else tell ok "plain in a pipe"; fi

# The report: each cause in full once, no line wider than asked for, and what to do next.
name="a cause is explained once" says ! "n = 0: as above [wrong_status]" make -s grade LESSON=1
expect "the log says everything once" test "$(grep -c '^n = 0: fail' build/log/01_vector_add.txt)" = 1
name="answers first" says ! "make debug LESSON=02" make -s grade LESSON=2
naive=solutions/02_transpose/steps/1_naive.cu
name="a cost is profiled" says ! "make profile LESSON=02 FILE='$naive' CASE='" make -s grade LESSON=2 FILE=$naive
name="and hinted at by its cause" says 0 "for: uncoalesced" make -s hint LESSON=2 CAUSE=uncoalesced
sed 's/\[TILE + 1\];/[TILE];/; s/^ *__syncthreads.*//' solutions/02_transpose/transpose.cu >unordered.cu
COLUMNS=70 make -s grade LESSON=2 FILE=unordered.cu 2>/dev/null | sed '/^Next:/,$d; /^Lesson/,/^$/d' >narrow.txt
if grep -q '\[race\]' narrow.txt && ! grep -qE '.{71}' narrow.txt; then tell ok "lines fit the terminal"; else
    tell FAIL "lines fit the terminal" "$(cat narrow.txt)"
fi
if grep -qF '; . right, + some wrong' narrow.txt; then
    tell FAIL "no map where a line is known" "$(cat narrow.txt)"
else
    tell ok "no map where a line is known"
fi
sed 's/    int64_t i = .*/&\n    for (volatile int k = 0; k < 1;) {}/' "solutions/$lesson/vector_add.cu" >spins.cu
name="those that did not end are counted" says 1 "not run: 2 items" \
    build/grader/$lesson/check spins.cu --device cpu --seconds 0.5

# CPU time is not what the neighbours take.
name="beside others it has the same time" says 1 "still running after 0.1 s" \
    build/grader/$lesson/check spins.cu --seconds 0.5 --at-once 4 --stop

# Nothing is told twice; what an unrelated item says of an ordinary call is said.
sed 's/sum += A_smem/sum -= A_smem/' solutions/05_tiled_matmul/tiled_matmul.cu >minus.cu
make -s grade LESSON=5 FILE=minus.cu SEED=1 2>/dev/null >minus.txt
told_once() {
    [ "$(grep -c 'every element is -1 times' minus.txt)" = 1 ] && [ "$(grep -c '  next: is a __sync' races.txt)" = 1 ]
}
expect "an advice and a finding are told once" told_once
name="an ordinary call" says 0 "already this ordinary call fails" grep -A1 '  sizes of 0: as above' minus.txt
name="a pipe wraps nothing" says 0 "next: is a __syncthreads() missing" grep 'before the next round)$' races.txt
# Profiles: the same numbers in each format; JSON holds them alone, whatever the kernel prints.
name="a profile as a table" says 0 "each takes" make -s profile LESSON=5 FROM=solutions
sed 's|^    dim3 block|    printf("{\\n");\n    dim3 block|; 1i #include <stdio.h>' \
    solutions/05_tiled_matmul/tiled_matmul.cu >prints.cu
make -s profile LESSON=5 FILE=prints.cu FORMAT=csv SEED=1 >profile.csv 2>/dev/null
make -s profile LESSON=5 FILE=prints.cu FORMAT=json SEED=1 >profile.json 2>/dev/null
csv=$(sed -n 's/.*,\([a-z0-9_.]*\),\([0-9]*\)$/\1 \2/p' profile.csv | sort)
json=$(sed -n 's/^ *"\([a-z0-9_]*__[a-z0-9_.]*\)": \([0-9]*\),*$/\1 \2/p' profile.json | sort)
if [ -n "$csv" ] && [ "$csv" = "$json" ] && [ "$(head -c 1 profile.json)" = '{' ] &&
    grep -q '"line": [0-9]' profile.json && [ "$(tail -n 1 profile.json)" = '}' ]; then
    tell ok "a profile as CSV and as JSON"
else
    tell FAIL "a profile as CSV and as JSON" "$(diff profile.csv profile.json | head -n 20)"
fi
name="a profile of a wrong kernel" says 0 "The result of this case is wrong" make -s profile LESSON=5
if for n in 5 11; do make -s profile LESSON=$n FROM=solutions; done 2>&1 | grep -q wrong; then
    tell FAIL "a costly one is not wrong"
else
    tell ok "a costly one is not wrong"
fi
name="what can be profiled is listed" says 2 "  global memory is read once per tile" \
    make -s profile LESSON=5 FROM=solutions CASE="bad arguments"
name="a profile as what is none" says ! "unknown format" make -s profile LESSON=5 FORMAT=yaml

# The debugger stops by itself where the device has something to say, in the student's frame.
if command -v gdb >/dev/null; then
    cat >waits.cu <<'CU'
#include "tiled_matmul.h"
#include <stdio.h>
__global__ void waits(float* C, int n) {
    int mine = 3 * threadIdx.x;
    if (mine == 0) printf("n is %d\n", n);
    if (mine < 16)
        __syncthreads();
    else
        __syncthreads();
    C[threadIdx.x] = mine;
}
extern "C" int tiled_matmul(float* C, const float* A, const float* B, int M, int N, int K) {
    waits<<<1, 32>>>(C, 32);
    return A && B && M + N + K == 0;
}
CU
    sed 's/if (mine < 16)/if (mine < 1600)/; s/C\[threadIdx.x\]/C[threadIdx.x + (1ll << 33)]/' \
        waits.cu >strays.cu
    set -- CASE="three calls" LESSON=5
    name="the debugger stops at a barrier" says 0 "waits.cu:9" make -s debug "$@" FILE=waits.cu
    name="in the student's frame" says 0 "Stopped in your code" make -s debug "$@" FILE=waits.cu
    name="and shows what is printed" says 0 "n is 32" make -s debug "$@" FILE=waits.cu
    name="the debugger stops at a stray access" says 0 "strays.cu:10" make -s debug "$@" FILE=strays.cu
    line=$(grep -n 'sum += A_smem' races.cu | cut -d: -f1)
    make -s debug "$@" FILE=races.cu SEED=1 >debugged.txt 2>&1
    name="the debugger tells what the grade told" says 0 "FINDING: race on A_smem" cat debugged.txt
    name="and stops at a line that was named" says 0 "sum += A_smem" sed -n "/^Stopped in/,/^$line/p" debugged.txt
    cat >adds.cu <<'CU'
#include "tiled_matmul.h"
__global__ void product(float* C, const float* A, const float* B, int M, int N, int K) {
    int row = blockIdx.y, col = blockIdx.x * 32 + threadIdx.x;
    if (row >= M || col >= N) return;
    float sum = row == 3 && col > 1;
    for (int k = 0; k < K; k++) sum += A[(int64_t)row * K + k] * B[(int64_t)k * N + col];
    C[(int64_t)row * N + col] = sum;
    __syncwarp(__activemask());
}
extern "C" int tiled_matmul(float* C, const float* A, const float* B, int M, int N, int K) {
    if (M > 0 && N > 0) product<<<dim3((N + 31) / 32, M), 32>>>(C, A, B, M, N, K);
    return COURSE_OK;
}
CU
    make -s debug "$@" FILE=adds.cu >stored.txt 2>&1
    if grep -q "can be watched here" stored.txt; then
        tell skip "the debugger stops at a store" "this machine has no registers for it"
    else
        name="the debugger stops where the first wrong element is stored" \
            says 0 "first wrong element: C[3, 2] is" cat stored.txt
        name="in the line behind the store" says 0 "adds.cu:8" cat stored.txt
    fi
    name="the debugger says when all went well" says 0 "without a diagnosis" \
        make -s debug "$@" FROM=solutions
else
    tell skip "the debugger" "gdb is not installed"
fi

# What a student may try: each message says what it is, in the student's line, and what to use.
told() { # told TEXT CODE...: the file made of the lines, from line 2 on, ends with this message
    text=$1
    shift
    { echo '#include "vector_add.h"' && printf '%s\n' "$@"; } >told.cu
    name="told: $1" says ! "$text" make -s grade LESSON=1 FILE=told.cu CASE="bad arguments"
}
launcher='extern "C" int vector_add(float*, const float*, const float*, int64_t n) { return n > 0; }'
told "told.cu:2: warning: unused variable 'b'" \
    '__global__ void k() { __shared__ float a[4], b[4]; a[threadIdx.x] = 0; }' "$launcher"
told "told.cu:2:1: error: not on the CPU device: cooperative groups, use" '#include <cooperative_groups.h>' \
    'namespace cg = cooperative_groups;' '__global__ void k() { cg::this_thread_block().sync(); }'
told "told.cu:2:1: error: not on the CPU device: Thrust, use" 'thrust::device_vector<float> v;'
told "told.cu:2:1: error: not on the CPU device: cuBLAS, use" '#include <cublas_v2.h>'
told "told.cu:2:1: error: not on the CPU device: the helpers of NVIDIA's samples, use COURSE_TRY()" \
    '#include "helper_cuda.h"'
told "told.cu:2:1: error: not on the CPU device: managed variables, use __device__" \
    '__managed__ float x;' '__global__ void k(float* p) { p[0] = x; }'
told "told.cu:3:38: error: twice() is a function of the host; write __device__" \
    'float twice(float x) { return 2 * x; }' '__global__ void k(float* p) { p[0] = twice(p[0]); }'
told "told.cu:3:20: error: k() is no kernel; write __global__" \
    'void k(float* p) { p[0] = 0; }' 'void f(float* p) { k<<<1, 1>>>(p); }'
told "told.cu:2:16: error: k() is a kernel and returns void" '__global__ int k(float* p) { return p[0]; }'
told "told.cu:2:29: error: not on the CPU device: textures, use plain loads" \
    '__global__ void k(float* p, cudaTextureObject_t t) { p[0] = tex1Dfetch<float>(t, 0); }'
told "told.cu:2: calls cudaLaunchHostFunc, which the grader cannot follow: call the function in the" \
    'void f() { cudaLaunchHostFunc(0, nullptr, nullptr); }' "$launcher"
# What only files that are not graded have (grader/cpu/any) is not behind a condition either.
told "told.cu:4: calls cudaHostRegister, which the grader cannot follow" '#if 1' \
    'extern "C" cudaError_t cudaHostRegister(void*, size_t, unsigned);' \
    'void f(void* p) { cudaHostRegister(p, 4, 0); }' '#endif' "$launcher"
told "cudev/any_api.h: No such file" '#if 1' '#include "cudev/any_api.h"' '#endif' "$launcher"
told "#error not on the CPU device: cooperative groups, use" '#if 1' \
    '#include <cooperative_groups.h>' '#endif' "$launcher"
told 'told.cu:2:10: error: a quote of a text processor; write "' "#include $(printf '\342\200\234')math.h$(printf '\342\200\235')"
told "told.cu:2:4: error: a no-break space, as web pages have them; write a space" "$(printf 'int\302\240x;')"
told "told.cu:2: the attribute no_sanitize" '__attribute__((no_sanitize("thread"))) void f();' "$launcher"
told "told.cu:2:44: error: variable length array 't'" \
    '__global__ void k(float* p, int n) { float t[n]; t[0] = 1; p[0] = t[0]; }'
told "told.cu:2:57: error: the size of a __shared__ array is a constant, and n is none" \
    '__global__ void k(float* p, int n) { __shared__ float t[n]; t[0] = 1; p[0] = t[0]; }'
told "told.cu:2:36: error: 'printf' was not declared" '__global__ void k() { if (false) ; printf("x"); }'
told "told.cu: its __constant__ variables have 80000 bytes together, and a GPU has 65536" \
    '__constant__ float c[10000], d[10000];' '__global__ void k(float* p) { p[0] = c[0] + d[0]; }' "$launcher"
told "told.cu:2: includes iostream: print with printf() of <stdio.h>" '#include <iostream>' "$launcher"
told "told.cu:4: string needs functions of the C++ library, which a graded file may not call; use" \
    '#include <string>' "$launcher" 'size_t f(int n) { std::string s(n, 32); s += "d"; return s.size(); }'
told "told.cu:3: runs code before or after main()" '#include <stdlib.h>' 'static int x = rand();' \
    'int f() { return x; }' "$launcher"
told "told.cu:2: defines main(), which the grader has: it calls vector_add()" \
    'int main() { return 0; }' "$launcher"
told "told.cu:2: includes tiled_matmul.h, the contract of lesson 05_tiled_matmul; this is lesson 01" \
    '#include "tiled_matmul.h"'
told "told.cu:4:64: error: too few arguments to function 'void k(float*, int)'" \
    '__global__ void k(float*, int) {}' 'void f(float* p) {' \
    '    k<<<1, 32>>>(p, 1); /* a comment */   k<<<dim3(1, 2), 32>>>(p); }'
told "told.cu:3:53: error: 'what' was not declared" \
    '__global__ void k(float* p) {' '    __shared__ float a[4], b[4]; a[0] = b[0] = 1; p[what] = a[0] + b[0]; }'
told "told.cu:3:24: error: 'what' was not declared" '__global__ void k(float*) {}' 'void f(float* p) { k<<<what, 32>>>(p); }'
# And what is no mistake.
sed "1s/^/$(printf '\357\273\277')/; s/if (i < n) c/if (alias::less(i, n)) c/" "solutions/$lesson/vector_add.cu" >fine.cu
sed -i '0,/^__global__/s//namespace long_name { __device__ bool less(int64_t i, int64_t n) { return i < n; } }\nnamespace alias = long_name;\n__global__/' fine.cu
sed -i '0,/alias::less/s//n < 0 ? (__trap(), false) : alias::less/' fine.cu
name="a byte order mark, an alias of a namespace, __trap()" says 0 "Score: 20/20" \
    make -s grade LESSON=1 FILE=fine.cu CASE="partly filled"
# nvcc's word is a note. It is asked for here alone: that takes as long as the rest of a grade.
unset COURSE_WITHOUT_NVCC
if command -v nvcc >/dev/null; then
    printf '%s\n' '#include "vector_add.h"' '__device__ float one() { return 1; }' \
        'float host() { return one(); }' "$launcher" >nvcc.cu
    name="nvcc's word is heard" says ! "nvcc, which compiles for a GPU, refuses this file. That costs no points" \
        make -s grade LESSON=1 FILE=nvcc.cu CASE="bad arguments"
    name="with its line" says ! 'nvcc.cu(3): error: ' make -s grade LESSON=1 FILE=nvcc.cu CASE="bad arguments"
fi
export COURSE_WITHOUT_NVCC=1

cat >heap.cu <<'CU'
#include "tiled_matmul.h"
__global__ void heap(float* C) {
    __shared__ float* p;
    if (threadIdx.x == 0) p = (float*)malloc(32 * sizeof *p);
    __syncthreads();
    C[threadIdx.x] = p[threadIdx.x] = 1.0f;
}
extern "C" int tiled_matmul(float* C, const float* A, const float* B, int M, int N, int K) {
    heap<<<1, 32>>>(C);
    return A && B && M + N + K == 0;
}
CU
name="only on a GPU: malloc() in a kernel" says ! \
    "not on the CPU device: malloc() in a kernel at heap.cu:4, use memory" \
    make -s grade LESSON=5 FILE=heap.cu CASE="three calls"

# Hints follow the failure; three of them.
make -s grade LESSON=1 >/dev/null 2>&1
name="first hint" says 0 "Hint 1 of 3" make hint LESSON=1
make -s hint LESSON=1 >/dev/null
name="third hint" says 0 "Hint 3 of 3" make hint LESSON=1
expect "hints are as wide as the terminal" test "$(COLUMNS=60 make -s hint LESSON=5 CAUSE=transposed |
    awk 'length > longest { longest = length } END { print (longest <= 60) }')" = 1
name="a hint of all lessons" says 0 "the same expression: name it once" sh -c \
    "make -s hint LESSON=1 CAUSE=sums_moved >&2; make -s hint LESSON=1 CAUSE=sums_moved"
# Each of those is of a cause that there is, at both of its levels.
hints_of() { # hints_of LEVEL
    awk -v level="$1" '/^## / { on = $2 == level } on && /^### / { print $2 }' lessons/hints.md | sort
}
expect "hints of all lessons have two levels" test -n "$(hints_of 1)" -a "$(hints_of 1)" = "$(hints_of 2)"
expect "hints of all lessons are of causes" test -z "$(hints_of 1 |
    grep -vxF "$(build/grader/01_vector_add/check --causes | cut -d' ' -f1)")"
name="no fourth hint" says 0 "Hint 3 of 3" make hint LESSON=1

name="of the last whole grade" says 0 "It follows from your last whole grade of $file, 0/100." make -s hint LESSON=1

# With CASE= they follow what was graded there, until the next whole grade.
make -s grade LESSON=1 CASE='bad arguments' >/dev/null 2>&1
name="of a grade with CASE=" says 0 "It follows from your last grade with CASE= of $file, 0/" make -s hint LESSON=1
cp "solutions/$lesson/vector_add.cu" "$file"
make -s grade LESSON=1 CASE='bad arguments' >/dev/null 2>&1
name="which may have full marks" says 0 "What you graded last, with CASE=, has full marks" make -s hint LESSON=1
git checkout -q "$file"
make -s grade LESSON=1 >/dev/null 2>&1
name="and a whole grade again" says 0 "It follows from your last whole grade of $file, 0/100." make -s hint LESSON=1

failed() { # failed CAUSE...: a result whose items failed so
    printf '{"version": 1, "lesson": "%s", "score": 10, "max_score": 100, "items": [' "$lesson"
    while [ $# -gt 0 ]; do
        printf '{"name": "an item", "outcome": "fail", "cause": "%s"}%s' "$1" "${2:+,}"
        shift
    done
    echo ']}'
}
failed leak tail_dropped out_of_bounds tail_dropped >build/results/$lesson.json
name="a hint for what failed most often" says 0 "for: tail_dropped" make -s hint LESSON=1
failed unknown unknown tail_dropped >build/results/$lesson.json
name="and of what is known" says 0 "for: tail_dropped" make -s hint LESSON=1

# Wrong kernels go from patches to files and back, and follow the solution or say that they do not.
kernels=build/wrong/$lesson patch=grader/$lesson/wrong/guard_off_by_one.patch
name="wrong kernels as files" says 0 "$kernels/no_guard.cu" make wrong LESSON=1
sed -i 's/i <= n/i < n + 1/' "$kernels/guard_off_by_one.cu"
name="an edited one is not overwritten" says ! "SAVE=guard_off_by_one keeps that" make wrong LESSON=1
sed -i '1i // A new first line.' "solutions/$lesson/vector_add.cu"
name="is saved for the solution as it is now" says 0 "$kernels/guard" make wrong LESSON=1 SAVE=guard_off_by_one
if [ "$(grep -c '^[-+] ' "$patch")" = 2 ] && grep -q '^+.*i < n + 1' "$patch"; then
    tell ok "and its patch is the edit alone"
else
    tell FAIL "and its patch is the edit alone" "$(cat "$patch")"
fi
sed -i 's/if (i < n) c/if (n > i) c/' "solutions/$lesson/vector_add.cu"
name="one that no longer fits is named" says ! "no_guard.patch does not fit" make wrong LESSON=1
name="with the conflict marked" says ! "no_guard.cu holds the lines" make wrong LESSON=1 SAVE=no_guard
sed -i '/^<<<<<<</,/^=======/d; /^>>>>>>>/d' "$kernels/no_guard.cu"
name="and mended" says 0 "$kernels/no_guard.cu" make wrong LESSON=1 SAVE=no_guard
git checkout -q solutions grader
rm -r build/wrong

cp broken.cu "$file"
make -s grade LESSON=1 >/dev/null 2>&1
name="what does not compile needs no hint" says 0 "The first error: $file:2:9: error: " make hint LESSON=1
cp "solutions/$lesson/vector_add.cu" "$file"
make -s grade LESSON=1 >/dev/null 2>&1
name="nor do full marks" says 0 "nothing to hint at" make hint LESSON=1
git checkout -q "$file"

# A lesson without a kernel: a text is graded.
answers=exercises/21_flop_counting/answers.txt
name="a text" says 0 "Score: 100/100" make grade LESSON=21 FROM=solutions DEVICE=cuda
name="its stub" says ! "Score: 0/100" make grade LESSON=21
name="it needs no device" says ! '"device": "none"' make -s grade LESSON=21 FORMAT=json
name="a hint for it" says 0 "for: no_answer" make -s hint LESSON=21
name="nothing to profile" says 0 "has no kernel" make -s profile LESSON=21
name="nothing to debug" says 0 "has no kernel" make -s debug LESSON=21
sed 's/^forward_flops =.*/& 1/' $answers >one.txt
name="one wrong answer is mended before the empty ones" says ! "Next: make hint LESSON=21 CAUSE=wrong_formula" \
    make -s grade LESSON=21 FILE=one.txt
cp one.txt $answers
make -s grade LESSON=21 >/dev/null 2>&1
name="and hinted at" says 0 "for: wrong_formula" make -s hint LESSON=21
git checkout -q $answers
name="nothing to time" says 0 "has no kernel: there is nothing to time" make -s bench LESSON=21
printf 'forward_flops = 4 * B * H * (N_q N_k d\n' >formula.txt
name="what is no formula" says ! "line 1, column 34: N_k is not expected" make -s grade LESSON=21 FILE=formula.txt
sed -i 's/^forward_flops =.*/forward_flops = 1/' $answers
name="reset of a text" says 0 "Your $answers was saved" make reset LESSON=21

# A student's edit survives everything.
mine='// my work'
echo "$mine" >>$answers
echo "$mine" >>"$file"
name="reset saves first" says 0 "was saved as" make reset LESSON=1
if grep -qrF "$mine" saved && ! grep -qF "$mine" "$file"; then tell ok "reset: saved and reset"; else
    tell FAIL "reset: saved and reset"
fi
echo "$mine" >>"$file"
(cd "$top/origin" && echo "// new version" >>"$file" && echo >>README.md &&
    git add -A && git -c user.name=t -c user.email=t@t commit -qm "new version")
name="update keeps an edit" says 0 "yours was kept" make update
if grep -qF "$mine" "$file" && grep -qF "$mine" $answers && [ "$(git rev-parse HEAD)" = "$(git rev-parse '@{u}')" ]; then
    tell ok "update: new version, own file"
else
    tell FAIL "update: new version, own file" "$(git status --short)"
fi
git add "$file" && git commit -qm "my work"
(cd "$top/origin" && echo "// newer" >>"$file" && git add -A &&
    git -c user.name=t -c user.email=t@t commit -qm "newer")
name="update keeps a committed edit" says 0 "Updated to" make update
if grep -qF "$mine" "$file"; then tell ok "update: committed work kept"; else
    tell FAIL "update: committed work kept"
fi
tiles=lessons/14_flash_tensor_core/tiles.h
echo "// measured here" >>$tiles
(cd "$top/origin" && echo "// newest" >>"$file" && git add -A &&
    git -c user.name=t -c user.email=t@t commit -qm "newest")
name="update after make tune" says 0 "Your $tiles was saved as" make update
if git diff --quiet -- $tiles && grep -qrF "// measured here" saved; then tell ok "update: tiles saved"; else
    tell FAIL "update: tiles saved" "$(git status --short)"
fi
name="update without news" says 0 "newest version" make update
before=$(cat "$file")
make -s exercises >/dev/null 2>&1
if grep -qrF "$mine" saved; then tell ok "exercises saves an edit"; else
    tell FAIL "exercises saves an edit" "$before"
fi

# Two grades at once, one of them cold; a read-only home; an interrupted grade. Of a sample, cold is
# the library alone in three weeks of four. What is built here has been built as it is for students:
# now as quickly as that goes.
cflags=
if drawn cold 24; then rm -rf build && cflags=CFLAGS=-O0; else rm -rf build/libgrader.a build/grader/base; fi
make -s grade LESSON=1 $cflags FROM=solutions >one.txt 2>&1 &
make -s grade LESSON=1 $cflags FROM=solutions >two.txt 2>&1
wait
expect "a cold one says what it waits for" grep -q "^Building the grader" one.txt two.txt
if grep -q 100/100 one.txt && grep -q 100/100 two.txt; then tell ok "two grades at once"; else
    tell FAIL "two grades at once" "$(tail -n 3 one.txt two.txt)"
fi
name="a home that cannot be written" says 0 "Score: 8/8" \
    env HOME=/proc make grade LESSON=1 $cflags FROM=solutions CASE="n = 0"
cp "$file" before.cu
printf '#include "vector_add.h"\nextern "C" int vector_add(float*, const float*, const float*, int64_t) { for (volatile int i = 0;; i++) {} }\n' >loop.cu
# Compiled before, so that it is stopped in its loop: what bubblewrap begins just then may live on.
timeout 12 make -s grade LESSON=1 $cflags FILE=loop.cu CASE="n = 0" >/dev/null 2>&1
timeout -s INT 2.5 make -s grade LESSON=1 $cflags FILE=loop.cu >/dev/null 2>&1
expect "nothing runs on after Ctrl-C" no_survivor
expect "and the exercise is untouched" cmp "$file" before.cu
# setup.sh says how far it is. apt-get is a stand-in here, which brings one tool; so is id.
mkdir bin
cat >bin/apt-get <<'APT'
#!/bin/sh
case " $* " in
*' -s '*) printf 'Inst one\nInst two\n' ;;
*' install '*)
    printf 'Get:1 one\nGet:2 two\n'
    sleep 6
    printf 'Setting up one\nSetting up two\n'
    printf '#!/bin/sh\n' >"$(dirname "$0")/absent_tool"
    chmod +x "$(dirname "$0")/absent_tool"
    ;;
esac
APT
printf '#!/bin/sh\necho 0\n' >bin/id
chmod +x bin/apt-get bin/id
sed 's/^patch  *|/absent_tool |/' setup.sh >setup_here.sh
name="setup.sh counts what it has fetched" says 0 "2 of 2 packages fetched, 0 set up" \
    script -qec "PATH='$PWD/bin:$PATH' sh setup_here.sh" /dev/null
rm bin/absent_tool
name="and what is set up" says 0 "2 of 2 packages set up" script -qec "PATH='$PWD/bin:$PATH' sh setup_here.sh" /dev/null

finish
