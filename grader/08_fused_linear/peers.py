"""peers.py: PyTorch's linear, gelu and dropout, eager and compiled, and their elementwise backward pass
(grader/bench/peers.py).

PyTorch's dropout has random numbers of its own. Where either it or the course's kernel drops an element, the output of
the first right version stands in for it; the others are verified one by one, and so is the share that PyTorch drops.
"""

import torch
from torch.nn import functional

FORMS = None, "none", "tanh"


def forward(X, W, bias, form, p):
    """Y, and Z, which a backward pass would need."""
    Z = functional.linear(X, W, bias)
    Y = functional.gelu(Z, approximate=form) if form else Z
    return (functional.dropout(Y, p) if p > 0 else Y), Z


def backward(dY, Z, mask, form, p):
    """The elementwise part, with the mask that a forward pass has stored, a byte an element."""
    dF = torch.ops.aten.native_dropout_backward(dY, mask, 1 / (1 - p))
    return torch.ops.aten.gelu_backward(dF, Z, approximate=form)


class Peers:
    names, kinds, looser = ("torch eager", "torch.compile"), ("pytorch", "triton"), 1.5
    forwards = forward, torch.compile(forward, dynamic=False)
    backwards = backward, torch.compile(backward, dynamic=False)

    def __init__(self, bench, n):
        self.bench = bench
        M, N, K, f, percent, self.with_Z, _, self.is_backward = n
        self.form, self.p = FORMS[f], percent / 100

        def input(name, *shape):
            return bench.get(name, shape, torch.bfloat16)

        if self.is_backward:
            self.dY, self.Z = input("dY", M, N), input("Z", M, N)
            self.mask = torch.rand(M, N, device=self.dY.device) >= self.p
        else:
            self.X, self.W, self.bias = input("X", M, K), input("W", N, K), input("bias", N)

    def call(self, peer):
        with torch.no_grad():
            if self.is_backward:
                return self.backwards[peer](self.dY, self.Z, self.mask, self.form, self.p), None
            return self.forwards[peer](self.X, self.W, self.bias, self.form, self.p)

    def deliver(self, peer, result):
        out, Z = result
        name = "dZ" if self.is_backward else "Y"
        if self.p > 0:
            self.bench.put_agreed(name)
            agreed = self.bench.get(name, out.shape, out.dtype)
            kept = out != 0
            if abs(kept.float().mean().item() - (1 - self.p)) > 0.02:  # an output of 0 is rare
                return  # not delivered: wrong
            out = torch.where(kept & (agreed != 0), out, agreed)
        self.bench.put(name, out)
        if self.with_Z and not self.is_backward:
            self.bench.put("Z", Z)
