"""peers.py: FlashAttention-2 as PyTorch has it, with a window or with documents, and FlexAttention, compiled by
Triton for the mask (grader/bench/attention_peers.py); both in bf16."""

import torch
from attention_peers import WithGradients, index_mask
from torch.nn.attention.flex_attention import create_block_mask, flex_attention

CU_SEQLENS = 13  # numbers: 12 documents


class Peers(WithGradients):
    names, kinds, looser, layouts = ("FlashAttention-2", "FlexAttention"), ("pytorch",) * 2, 1.0, ("B N H d",) * 2

    def __init__(self, bench, n):
        self.bench, self.backward = bench, n[7]
        self.H, self.N, self.d, self.causal, self.window, self.sinks, documents = n[:7]
        self.ends, self.longest = None, self.N
        if documents:
            self.ends = bench.get("cu_seqlens", (CU_SEQLENS,), torch.int32)
            self.longest = int(self.ends.diff().max())
        self.Q, self.K, self.V = (self.input(name) for name in "QKV")
        torch._dynamo.reset()  # a kernel for each mask, and no limit for all of them together
        self.flex = torch.compile(flex_attention, dynamic=False)
        self.blocks = create_block_mask(self.mask(), None, None, self.N, self.N, device="cuda")
        if self.backward:
            at = torch.arange(self.N, device="cuda")
            shown = self.mask()(None, None, at[:, None], at[None, :])
            self.prepare_backward(self.input("dO"), False, shown.expand(1, self.H, self.N, self.N))
        self.attention(1)  # compiles
        torch.cuda.synchronize()

    def input(self, name):
        return self.bench.get(name, (1, self.N, self.H, self.d), torch.bfloat16).transpose(1, 2)

    def mask(self):
        return index_mask(self.N, self.causal, self.window, self.sinks, self.ends)

    def attention(self, peer):
        if peer == 1:
            return self.flex(self.Q, self.K, self.V, block_mask=self.blocks)
        return self.flash()[0]

    def flash(self):
        """O of (1, H, N, d), and what the backward pass needs of the operation's own."""
        if self.sinks:
            raise RuntimeError("FlashAttention-2 has no sinks")
        Q, K, V = (x.detach().transpose(1, 2) for x in (self.Q, self.K, self.V))
        if self.ends is not None:
            Q, K, V = Q[0], K[0], V[0]
        O, LSE, state, unused, _ = torch.ops.aten._flash_attention_forward(
            Q, K, V, *self.lengths(), False, **self.sides())
        return self.heads_first(O), (Q, K, V, O, LSE, *self.lengths(), state, unused)

    def lengths(self):  # and no dropout
        return self.ends, self.ends, self.longest, self.longest, 0.0, bool(self.causal)

    def sides(self):
        if not self.window:
            return {}
        left = self.window - 1 if self.causal else self.window
        return {"window_size_left": left, "window_size_right": 0 if self.causal else self.window}

    def heads_first(self, rows):
        return rows.view(1, self.N, self.H, self.d).transpose(1, 2)

    def call(self, peer):
        if peer == 1 or not self.backward:
            return super().call(peer)
        if peer not in self.outputs:
            self.outputs[peer] = self.flash()[1]
        forward = self.outputs[peer]
        dO = self.dO.transpose(1, 2).reshape(forward[3].shape)
        return [self.heads_first(x) for x in torch.ops.aten._flash_attention_backward(dO, *forward, **self.sides())]
