#!/bin/sh
# torch.sh: what `make test-torch` does: PyTorch checks the operations of all lessons, with the
# course's solutions, and the example trains as it does with PyTorch's own attention. Then the
# checks are shown to fail: for wrong kernels, for a kernel that ends its program, for mistakes in
# the package. Runs without a GPU; where PyTorch finds one, it takes that, unless DEVICE=cpu.
# usage: torch.sh      with PYTHON, DEVICE, SEED in the environment
. grader/test/tell.sh
unset FILE FROM PARTNER MAKEFLAGS MAKELEVEL MFLAGS
python=${PYTHON:-build/torch/env/bin/python}
[ -n "${PYTHON:-}" ] || [ -x "$python" ] || python=python3
export PYTHONPYCACHEPREFIX=build/torch/pycache
"$python" -c 'import torch' 2>/dev/null || {
    echo "$python has no PyTorch. sh setup.sh --torch makes an environment that has; PYTHON= names another Python." >&2
    exit 2
}
work=build/test/torch
rm -rf $work
mkdir -p $work
export SEED="${SEED:-$(od -An -N3 -tu4 /dev/urandom | tr -d ' ')}"
lessons=$("$python" pytorch/course_kernels/table.py)
solutions=$(for lesson in $lessons; do printf '%s=solutions ' "$lesson"; done)

# ---- the solutions

for lesson in $lessons; do
    expect "torch: $lesson is built" sh grader/make/torch.sh build "$lesson" solutions
done
# shellcheck disable=SC2086  # one word a lesson
COURSE_KERNELS=$solutions "$python" pytorch/check.py $lessons >$work/said 2>&1
status=$?
cat $work/said
# Every check counts as a test.
passed=$((passed + $(grep -c '^ok ' $work/said))) failed=$((failed + $(grep -c '^FAIL ' $work/said)))
# On a GPU there are more, and fewer on one that is not Hopper's.
all_made() {
    [ "$status" = 0 ] && { grep -q '^PyTorch .* on cuda' $work/said || grep -q '^125 checks, 0 failed' $work/said; }
}
expect "torch: all checks were made" all_made
expect "torch: the example" env COURSE_KERNELS="$solutions" "$python" pytorch/example.py
expect "torch: the example, compiled" env COURSE_KERNELS="$solutions" COMPILE=aot_eager "$python" pytorch/example.py
# What torch.compile does by itself compiles C++ against Python's headers.
if [ -e "$("$python" -c 'import sysconfig; print(sysconfig.get_path("include"))')/Python.h" ]; then
    expect "torch: the example, compiled by inductor" env COURSE_KERNELS="$solutions" COMPILE=inductor \
        "$python" pytorch/example.py
else
    tell skip "torch: the example, compiled by inductor" "there is no Python.h (sh setup.sh --torch)"
fi

# ---- what has to fail

# fails NAME WORDS COMMAND...: the command fails, and says the words
fails() {
    name=$1 words=$2
    shift 2
    if output=$("$@" 2>&1); then
        tell FAIL "$name" "it passed"
    elif printf '%s' "$output" | grep -qe "$words"; then
        tell ok "$name"
    else
        tell FAIL "$name" "it does not say $words: $(printf '%s' "$output" | tail -n 15)"
    fi
}
# with LESSON: the checks of it, with the kernel that was built last under the key "test"
with() {
    COURSE_KERNELS="$solutions $1=test" "$python" pytorch/check.py "$1"
}
while read -r number kernel words; do
    lesson=$(echo "$lessons" | grep "^${number}_")
    sh grader/test/wrong.sh list "$lesson" >/dev/null
    FILE=build/wrong/$lesson/$kernel.cu sh grader/make/torch.sh build "$lesson" test >$work/said 2>&1 ||
        tell FAIL "torch: $lesson with $kernel.cu" "$(cat $work/said)"
    fails "torch: $lesson with $kernel.cu fails" "FAIL  *$lesson.*$words" with "$lesson"
done <<'TABLE'
12 O_not_rescaled          O is off by
13 aligned_top_left        O is
14 LSE_in_base_2           LSE is off by
15 delta_forgotten         dQ is off by
16 scale_forgotten_in_dK   dK is off by
17 heads_interleaved_backward d[QKV] is off by
18 prefix_forgotten_backward d[QKV] is off by
19 mask_of_first_head      O is off by
20 sum_of_a_pool           R is off by
24 transpose_A_ignored     A^T B
25 heads_interleaved       O is off by
26 dS_not_transposed       d[QKV] is off by
28 own_key_hidden          O is
TABLE
# A kernel that the CPU device stops is told with its line, and Python goes on.
awk '/__syncthreads\(\);/ && !done { sub(/__syncthreads/, "if (threadIdx.x != 0) __syncthreads"); done = 1 } 1' \
    solutions/12_flash_forward/flash_forward.cu >$work/ends.cu
FILE=$work/ends.cu sh grader/make/torch.sh build 12_flash_forward test >/dev/null
[ "${DEVICE:-cpu}" = cuda ] || fails "torch: a kernel that ends its program is told" \
    "barrier divergence.* at $work/ends.cu:" with 12_flash_forward
# A library that is older than its kernel is refused, and so is one that is not there.
echo >>$work/ends.cu
fails "torch: an edited kernel is not called" "was edited since" with 12_flash_forward
fails "torch: a kernel that is not built is told" "make torch LESSON=13 FROM=exercises" \
    env COURSE_KERNELS="13_causal_ragged=exercises" "$python" -c '
import sys; sys.path.insert(0, "pytorch")
import torch, course_kernels
course_kernels.library.ROOT = course_kernels.library.ROOT / "nowhere"
course_kernels.attention(*torch.zeros(3, 1, 4, 1, 8, dtype=torch.float16), lesson=13)'

# Mistakes in the package: a copy of it, with one edit. Its libraries are those that are built.
ln -s "$PWD/build" $work/build
ln -s "$PWD/solutions" $work/solutions
# planted LESSON FILE SED WORDS NAME
planted() {
    rm -rf $work/pytorch && cp -r pytorch $work/pytorch && rm -rf $work/pytorch/course_kernels/__pycache__
    sed "$3" "pytorch/$2" >"$work/pytorch/$2"
    ! cmp -s "pytorch/$2" "$work/pytorch/$2" || tell FAIL "torch: planted: $5" "the edit changes nothing"
    fails "torch: planted: $5" "$4" env COURSE_KERNELS="$solutions" "$python" $work/pytorch/check.py "$1"
}
ops=course_kernels/ops_attention.py
planted 14 $ops 's/return x if in_place else x.contiguous()/return x if in_place or 0 in x.stride() else x.contiguous()/' \
    'FAIL .*gradient of a sum: ValueError' 'dO is not made contiguous'
planted 14 $ops 's/steps = (x.data_ptr(), .*/steps = ()/' 'FAIL .*beside fp64.*COURSE_UNSUPPORTED' 'alignment is not looked at'
planted 14 $ops 's/x.dtype != dtype:/False:/' 'FAIL .*other types are refused' 'types are not looked at'
planted 14 $ops 's/ctx.mark_non_differentiable(.*/pass/' 'FAIL .*LSE has a gradient' 'LSE is said to have a gradient'
planted 14 $ops 's/ctx.save_for_backward(Q, K, V, O, LSE/ctx.save_for_backward(Q, K, V, O.clone(), LSE/' \
    'FAIL .*changed in place' 'a copy of O is saved'
planted 16 $ops 's/ctx.save_for_backward(Q, K, V,/ctx.save_for_backward(Q, V, K,/' 'FAIL .*beside fp64.*d[QKV] is off' \
    'K and V are exchanged'
planted 14 $ops 's/return Q.new_empty(B, N_q, H, d), Q.new_empty(B, H, N_q, dtype=FP32)/return Q.new_empty(B, N_q, H, d), Q.new_empty(B, N_q, H, dtype=FP32)/' \
    'FAIL .*LSE' 'LSE has another shape'
planted 14 $ops 's/op.register_fake(fake)/op.register_fake(lambda Q, K, V, *rest: (torch.empty_like(Q.transpose(1, 2)), *fake(Q, K, V, *rest)[1:]))/' \
    'FAIL .*opcheck' 'the fake has another shape'
planted 16 $ops 's/    return dQ, dK, dV$/    library.calls[lesson] += 1; return dQ, dK, dV/' 'FAIL .*calls of lesson' 'the backward pass is called twice'
planted 14 $ops 's/return operation(name, schema, implementation, outputs, Refusal(name, TWICE))/return operation(name, schema, implementation, outputs, lambda ctx, *g: (None,) * 8)/' \
    'FAIL .*second derivative' 'a second derivative is 0'
# For the sizes of gradcheck alone: else the numbers are seen to be wrong first.
planted 13 $ops 's/numbers={\*\*sizes(Q, K, scale), "backward": 1/numbers={**sizes(Q, K, scale * (1.1 if Q.shape[3] == 4 else 1)), "backward": 1/' \
    'FAIL .*gradcheck' 'the gradient has another scale'
planted 24 course_kernels/ops_others.py 's/hopper_matmul(B, dC, tB, True)/hopper_matmul(B, dC, not tB, True)/' 'FAIL .*gradcheck' \
    "a gradient is transposed"
finish
