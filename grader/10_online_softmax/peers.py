"""peers.py: m and l of every row by PyTorch's operations (grader/bench/peers.py): x is read twice, and x - m stored."""

import torch


class Peers:
    names, kinds, looser = ("torch amax() exp() sum()",), ("pytorch",), 1.0

    def __init__(self, bench, n):
        self.bench = bench
        self.x = bench.get("x", n[:2], torch.float32)

    def call(self, peer):
        m = self.x.amax(1, keepdim=True)
        return m, (self.x - m).exp_().sum(1)

    def deliver(self, peer, result):
        for name, tensor in zip("ml", result):
            self.bench.put(name, tensor)
