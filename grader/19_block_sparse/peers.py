"""peers.py: FlexAttention, compiled by Triton, over the same blocks of 128 x 128; and PyTorch's attention with the mask
written out, N x N for every head, which computes every score, masked or not. All in bf16."""

import torch
from attention_peers import BACKENDS, WithGradients, block_mask, sdpa
from torch.nn.attention.flex_attention import flex_attention

BLOCK = 128


class Peers(WithGradients):
    names = ("FlexAttention", "SDPA efficient with a dense mask", "SDPA math with a dense mask")
    backends = (None, BACKENDS["SDPA efficient"], BACKENDS["SDPA math"])
    kinds, looser, layouts = ("pytorch",) * 3, 1.0, ("B N H d",) * 3

    def __init__(self, bench, n):
        self.bench, self.backward = bench, n[7]
        H, N, d = n[:3]
        T = -(-N // BLOCK)
        active = bench.get("mask", (1, H, T, T), torch.uint8).bool()
        self.mask = active.repeat_interleave(BLOCK, 2).repeat_interleave(BLOCK, 3)[:, :, :N, :N].contiguous()

        def input(name):
            return bench.get(name, (1, N, H, d), torch.bfloat16).transpose(1, 2)

        self.Q, self.K, self.V = input("Q"), input("K"), input("V")
        if self.backward:
            self.prepare_backward(input("dO"), False, self.mask)
        self.blocks = None
        if N % BLOCK == 0:  # else the last block is seen in part, and asks a function of the indices
            self.blocks = block_mask(active, BLOCK)
            torch._dynamo.reset()
            self.flex = torch.compile(flex_attention, dynamic=False)
            self.attention(0)  # compiles
            torch.cuda.synchronize()

    def attention(self, peer):
        if peer > 0:
            return sdpa(self.backends[peer], self.Q, self.K, self.V, False, attn_mask=self.mask)
        if self.blocks is None:
            raise RuntimeError("blocks that are seen in part")
        return self.flex(self.Q, self.K, self.V, block_mask=self.blocks)
