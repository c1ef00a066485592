"""triton_attention.py: the Triton peers against fp64, on the GPU or, with TRITON_INTERPRET=1, without one.

    TRITON_INTERPRET=1 python3 grader/bench/test/triton_attention.py
"""

import math
import os
import sys

import torch

sys.path.insert(0, os.path.join(os.path.dirname(__file__), ".."))
import triton_attention  # noqa: E402

DEVICE = "cpu" if os.environ.get("TRITON_INTERPRET") else "cuda"


def reference(Q, K, V, dO, causal):
    Q, K, V = (x.double().detach().requires_grad_() for x in (Q, K, V))
    S = Q @ K.transpose(2, 3) / math.sqrt(Q.shape[3])
    if causal:
        S = S.masked_fill(torch.ones(S.shape[2:], dtype=torch.bool, device=S.device).triu(1), -math.inf)
    O = S.softmax(3) @ V
    return O, S.logsumexp(3), torch.autograd.grad(O, (Q, K, V), dO.double())


def worst(got, want):
    return ((got.double() - want).abs().max() / want.abs().max()).item()


failed = 0
for N, d, causal in ((5, 16, True), (64, 64, False), (129, 64, True), (200, 128, False), (321, 32, True), (257, 128, True)):
    torch.manual_seed(N)
    # (B, N, H, d) in memory
    Q, K, V, dO = (torch.randn(2, N, 3, d, dtype=torch.float16, device=DEVICE).transpose(1, 2) for _ in range(4))
    O, LSE, gradients = reference(Q, K, V, dO, causal)
    got_O, got_LSE = triton_attention.forward(Q, K, V, causal)
    errors = [worst(got_O, O), worst(got_LSE, LSE)]
    for split in (False, True):
        got = triton_attention.backward(Q, K, V, O.half(), LSE.float().contiguous(), dO, causal, split)
        errors += [worst(x, y) for x, y in zip(got, gradients)]
    # P and dS are rounded to 11 bits; a mistake is a hundred times that.
    ok = all(e <= 4e-3 for e in errors)
    failed += not ok
    print("ok  " if ok else "FAIL", f"N = {N}, d = {d}, causal {causal}:", " ".join(f"{e:.1e}" for e in errors), flush=True)
sys.exit(failed)
