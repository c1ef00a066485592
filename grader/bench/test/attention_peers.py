"""attention_peers.py: the peers of lessons 17 and 19 against fp64, without a GPU: a bench of tensors in the place of the
library, PyTorch's naive backend, both passes.

    python3 grader/bench/test/attention_peers.py      in the repository's root; needs PyTorch and Triton
"""

import importlib.util
import math
import sys

import torch

sys.path.insert(0, "grader/bench")


class Bench:
    def __init__(self):
        self.given, self.got = {}, {}

    def get(self, name, shape, dtype):
        if name not in self.given:
            self.given[name] = torch.randn(shape).to(dtype)
        return self.given[name].clone()

    def put(self, name, tensor):
        self.got[name] = tensor.detach().clone()

    def put_agreed(self, name):
        self.got[name] = None

    def heads(self, of, name):  # (B, N, H, d) as (B, H, N, d)
        return of[name].transpose(1, 2).double()


def peers_of(lesson):
    spec = importlib.util.spec_from_file_location(lesson, f"grader/{lesson}/peers.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.Peers


def worst(got, want):
    return ((got - want).abs().max() / want.abs().max()).item()


failed = 0


def check(lesson, n, shown_of, bench):
    """One size of one lesson; shown_of(peers) are the scores that count."""
    global failed
    peers = peers_of(lesson)(bench, n)
    naive = next(i for i, name in enumerate(peers.names) if "SDPA math" in name)
    peers.deliver(naive, peers.call(naive))
    Q, K, V = (bench.heads(bench.given, name).requires_grad_() for name in "QKV")
    group = Q.shape[1] // K.shape[1]
    S = Q @ K.repeat_interleave(group, 1).transpose(2, 3) / math.sqrt(Q.shape[3])
    S = S.masked_fill(~shown_of(peers), -math.inf)
    O = S.softmax(3) @ V.repeat_interleave(group, 1)
    errors = [worst(bench.heads(bench.got, "O"), O)]
    if n[7]:
        gradients = torch.autograd.grad(O, (Q, K, V), bench.heads(bench.given, "dO"))
        errors.append(worst(bench.got["LSE"].double(), S.logsumexp(3)))
        errors += [worst(bench.heads(bench.got, name), g) for name, g in zip(("dQ", "dK", "dV"), gradients)]
    # P and dS are rounded to 8 bits; a mistake is more than ten times that.
    ok = all(e <= 3.2e-2 for e in errors)
    failed += not ok
    print("ok  " if ok else "FAIL", lesson, "backward" if n[7] else "forward", *(f"{e:.1e}" for e in errors))


for backward in (0, 1):
    check("17_gqa", [6, 2, 40, 40, 32, 1, 2, backward], lambda _: torch.ones(40, 40, dtype=torch.bool).tril(), Bench())
    bench = Bench()
    mask = torch.tensor([[[[1, 0], [1, 1]], [[1, 1], [0, 1]]]], dtype=torch.uint8)
    bench.given["mask"] = mask
    check("19_block_sparse", [2, 200, 32, 50, 0, 0, 0, backward], lambda peers: peers.mask, bench)
sys.exit(failed)
