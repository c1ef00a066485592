"""cross_entropy_peers.py: the peers of lesson 11 against fp64, without a GPU: a bench of tensors in the place of the
library, rows that PyTorch's eager mode, its compiler and Triton's interpreter take.

    TRITON_INTERPRET=1 python3 grader/bench/test/cross_entropy_peers.py      in the repository's root; needs PyTorch and Triton
"""

import importlib.util
import sys

import torch


class Bench:
    def __init__(self, rows, V):
        self.given = {"logits": torch.randn(rows, V).bfloat16(), "labels": torch.randint(V, (rows,))}
        self.got = {}

    def get(self, name, shape, dtype):
        assert self.given[name].shape == torch.Size(shape) and self.given[name].dtype == dtype
        return self.given[name].clone()

    def get_again(self, name, tensor):
        tensor.data.copy_(self.given[name])

    def put(self, name, tensor):
        self.got[name] = tensor.detach().clone()

    def put_agreed(self, name):
        self.got[name] = None


def peers_of(lesson):
    spec = importlib.util.spec_from_file_location(lesson, f"grader/{lesson}/peers.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.Peers


def largest(error):
    return error.abs().max().item()


failed = 0
for rows, V, ignored in ((5, 1000, 0), (3, 32768, 1), (3, 50257, 0), (2, 70001, 1)):
    bench = Bench(rows, V)
    bench.given["labels"][:ignored] = -100
    peers = peers_of("11_cross_entropy")(bench, [rows, V])
    x = bench.given["logits"].double().requires_grad_()
    loss = torch.nn.functional.cross_entropy(x, bench.given["labels"])
    gradient, = torch.autograd.grad(loss, x)
    LSE = x.logsumexp(1)
    LSE[:ignored] = 0
    for peer, name in enumerate(peers.names):
        for _ in range(2):  # the second call finds what the first one left
            peers.ready(peer)
            peers.deliver(peer, peers.call(peer))
        got = bench.got
        # The gradient is rounded to bf16: half an ulp is at most 2^-8 of it. Triton's interpreter
        # cuts off the bits.
        rounding = 2 ** (-7 if "Triton" in name else -8)
        errors = [largest(got["loss"] - loss), largest((got["logits"] - gradient) / gradient.abs().clamp_min(1e-30))]
        if got["LSE"] is not None:
            errors.append(largest(got["LSE"] - LSE))
        ok = all(e <= most for e, most in zip(errors, (2e-5, rounding + 3e-5, 2e-5)))
        failed += not ok
        print("ok  " if ok else "FAIL", rows, V, ignored, name, *(f"{e:.1e}" for e in errors))
sys.exit(failed > 0)
