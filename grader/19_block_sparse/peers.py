"""peers.py: PyTorch's attention with the blocks' mask written out, N x N for every head (grader/bench/attention_peers.py),
in fp16. Every score is computed, masked or not: what the lesson's lists of blocks save."""

import torch
from attention_peers import BACKENDS, ROUNDS_P, WithGradients, sdpa

BLOCK = 128


class Peers(WithGradients):
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
            self.prepare_backward(input("dO"), False, self.mask)

    def attention(self, peer):
        return sdpa(self.backends[peer], self.Q, self.K, self.V, False, attn_mask=self.mask)
