"""peers.py: attention with P stored, N x N in fp32, and pooled afterwards (grader/bench/peers.py)."""

import math

import torch


class Peers:
    names = ("torch with P stored", "torch with P stored by tensor cores")
    kinds, looser, layouts = ("pytorch",) * 2, 1.0, ("N H d",) * 2

    def __init__(self, bench, n):
        self.bench = bench
        H, self.N, self.d, self.causal, self.pool = n[:5]
        # (H, N, d)
        self.Q, self.K, self.V = (bench.get(name, (self.N, H, self.d), torch.bfloat16).transpose(0, 1)
                                  for name in "QKV")
        self.later = torch.ones(self.N, self.N, dtype=torch.bool, device="cuda").triu(1)

    def scores(self, peer):
        """Q K^T in fp32, of operands in fp32 or, on tensor cores, in bf16."""
        if peer == 0:
            return self.Q.float() @ self.K.float().transpose(1, 2)
        return torch.bmm(self.Q, self.K.transpose(1, 2), out_dtype=torch.float32)

    def call(self, peer):
        S = self.scores(peer).div_(math.sqrt(self.d))
        if self.causal:
            S.masked_fill_(self.later, -math.inf)
        LSE = S.logsumexp(2)
        P = S.sub_(LSE[:, :, None]).exp_()
        # The last pool of a row or column may be short: its mean is over what it has.
        R = torch.nn.functional.avg_pool2d(P, self.pool, ceil_mode=True)
        O = P @ self.V.float() if peer == 0 else P.bfloat16() @ self.V
        return O.bfloat16().transpose(0, 1), LSE, R

    def deliver(self, peer, result):
        for name, tensor in zip(("O", "LSE", "R"), result):
            self.bench.put(name, tensor)
