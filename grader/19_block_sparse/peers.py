"""peers.py: PyTorch's attention with the blocks' mask written out, N x N for every head (grader/bench/attention_peers.py),
in fp16. Every score is computed, masked or not: what the lesson's lists of blocks save."""

import math

import torch
from attention_peers import BACKENDS, ROUNDS_P, sdpa

BLOCK = 128


class Peers:
    names = ("SDPA efficient with a dense mask", "SDPA math with a dense mask")
    backends = (BACKENDS["SDPA efficient"], BACKENDS["SDPA math"])
    kinds, looser, layouts = ("pytorch",) * 2, ROUNDS_P, ("B N H d",) * 2

    def __init__(self, bench, n):
        self.bench, self.backward = bench, n[7]
        H, N, d = n[:3]
        T = -(-N // BLOCK)
        blocks = bench.get("mask", (1, H, T, T), torch.uint8).bool()
        self.mask = blocks.repeat_interleave(BLOCK, 2).repeat_interleave(BLOCK, 3)[:, :, :N, :N].contiguous()

        def input(name):
            return bench.get(name, (1, N, H, d), torch.float16).transpose(1, 2)

        self.Q, self.K, self.V = input("Q"), input("K"), input("V")
        if self.backward:
            self.dO, self.outputs = input("dO"), {}
            self.put_forward()
            for x in (self.Q, self.K, self.V):
                x.requires_grad_()

    def put_forward(self):
        """The forward pass's O and LSE, in fp32, where the bench had random numbers. No row is empty."""
        O, LSE = torch.empty_like(self.Q), torch.empty(self.Q.shape[:3], device="cuda")
        for h in range(self.Q.shape[1]):
            S = self.Q[0, h].float() @ self.K[0, h].float().t() / math.sqrt(self.Q.shape[3])
            S.masked_fill_(~self.mask[0, h], -math.inf)
            LSE[0, h] = S.logsumexp(1)
            O[0, h] = (S - LSE[0, h, :, None]).exp() @ self.V[0, h].float()
        self.bench.put("O", O.transpose(1, 2))
        self.bench.put("LSE", LSE)

    def attention(self, peer):
        return sdpa(self.backends[peer], self.Q, self.K, self.V, False, attn_mask=self.mask)

    def call(self, peer):
        if not self.backward:
            return self.attention(peer)
        if peer not in self.outputs:  # the first call is not timed
            self.outputs[peer] = self.attention(peer)
        return torch.autograd.grad(self.outputs[peer], (self.Q, self.K, self.V), self.dO, retain_graph=True)

    def deliver(self, peer, result):
        if not self.backward:
            self.bench.put("O", result.transpose(1, 2))
            self.bench.put_agreed("LSE")
            return
        for name, gradient in zip(("dQ", "dK", "dV"), result):
            self.bench.put(name, gradient.transpose(1, 2))
