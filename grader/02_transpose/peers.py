"""peers.py: PyTorch's transpose (grader/bench/peers.py)."""

import torch


class Peers:
    names, kinds, looser = ("torch t().contiguous()",), ("pytorch",), 1.0

    def __init__(self, bench, n):
        self.bench = bench
        self.matrix = bench.get("in", n[:2], torch.float32)

    def call(self, peer):
        return self.matrix.t().contiguous()

    def deliver(self, peer, result):
        self.bench.put("out", result)
