"""peers.py: PyTorch's reductions (grader/bench/peers.py). No operation computes both: the second peer reads x twice."""

import torch


class Peers:
    names, kinds, looser = ("torch sum() alone", "torch sum() and amax()"), ("pytorch",) * 2, 1.0

    def __init__(self, bench, n):
        self.bench = bench
        self.x = bench.get("x", n[:2], torch.float32)

    def call(self, peer):
        return self.x.sum(1), self.x.amax(1) if peer == 1 else None

    def deliver(self, peer, result):
        self.bench.put("sum", result[0])
        if peer == 1:
            self.bench.put("max", result[1])
        else:
            self.bench.put_agreed("max")
