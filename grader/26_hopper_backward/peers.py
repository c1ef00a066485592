"""peers.py: PyTorch's attention in bf16 (grader/bench/attention_peers.py), and FlexAttention, compiled by Triton, where there
is a window or documents; and FlashAttention-3 where FA3=path names the folder that its installed Python module
flash_attn_interface lies in. Without FA3 there is no row of it. Who cannot do a mask, or has no way to ask for the same
bits, has no row of that size."""

import torch
from attention_peers import Backward, exact_forward, flash_attention_3, index_mask, rows_outside
from torch.nn.attention.flex_attention import create_block_mask, flex_attention

CU_SEQLENS = 13  # numbers: 12 documents


class Peers(Backward):
    fa3 = flash_attention_3()
    names = ("FlashAttention-2", "SDPA cuDNN", "FlexAttention") + (("FlashAttention-3",) if fa3 else ())
    kinds = ("pytorch",) * len(names)

    def __init__(self, bench, n):
        self.window, self.documents, self.same_bits = n[4], n[5], bool(n[6])
        self.ends, self.longest, self.masked = None, n[1], bool(n[4] or n[5])
        super().__init__(bench, n)

    def prepare(self):
        if not self.masked:
            super().prepare()
            return
        if self.documents:
            self.ends = self.bench.get("cu_seqlens", (CU_SEQLENS,), torch.int32)
            self.longest = int(self.ends.diff().max())
        seen = index_mask(self.N, self.causal, self.window, 0, self.ends)
        at = torch.arange(self.N, device="cuda")
        shown = seen(None, None, at[:, None], at[None, :]).expand(1, self.H, self.N, self.N)
        O, LSE = exact_forward(self.Q, self.K, self.V, False, shown)
        self.put("O", O)
        self.bench.put("LSE", LSE)
        self.dO = self.input("dO")
        self.blocks = create_block_mask(seen, None, None, self.N, self.N, device="cuda")
        torch._dynamo.reset()  # a kernel for each mask, and no limit for all of them together
        self.flex = torch.compile(flex_attention, dynamic=False)

    def timed(self, name, layout):
        if name == "FlashAttention-3":
            return self.flash_3()
        if self.same_bits:
            raise RuntimeError("no way to ask for the same bits")
        if name == "FlexAttention":
            return self.flexible()
        if not self.masked:
            return super().timed(name, layout)
        if name != "FlashAttention-2" or layout is not rows_outside:
            raise RuntimeError("no windows and no documents")
        return self.flash_2()

    def flexible(self):
        if not self.masked:
            raise RuntimeError("for masks that others have not")
        inputs = [x.detach().requires_grad_() for x in (self.Q, self.K, self.V)]
        O = self.flex(*inputs, block_mask=self.blocks)
        return lambda: torch.autograd.grad(O, inputs, self.dO, retain_graph=True)

    def rows(self, tensors):
        """As (B, N, H, d); with documents as (N, H, d)."""
        arrays = (rows_outside(x).transpose(1, 2).detach() for x in tensors)
        return [x if self.ends is None else x[0] for x in arrays]

    def heads_first(self, rows):
        return rows.view(self.B, self.N, self.H, self.d).transpose(1, 2)

    def flash_2(self):
        Q, K, V, dO = self.rows((self.Q, self.K, self.V, self.dO))
        sides = {"window_size_left": self.window - 1, "window_size_right": 0} if self.window else {}
        lengths = self.ends, self.ends, self.longest, self.longest, 0.0, self.causal  # and no dropout
        O, LSE, state, unused, _ = torch.ops.aten._flash_attention_forward(Q, K, V, *lengths, False, **sides)

        def call():
            result = torch.ops.aten._flash_attention_backward(dO, Q, K, V, O, LSE, *lengths, state, unused, **sides)
            return tuple(self.heads_first(x) for x in result)

        return call

    def flash_3(self):
        *inputs, dO = self.rows((self.Q, self.K, self.V, self.dO))
        inputs = [x.requires_grad_() for x in inputs]
        more = {"causal": self.causal, "deterministic": self.same_bits}
        if self.window:
            more["window_size"] = (self.window - 1, 0)
        if self.ends is None:
            result = self.fa3.flash_attn_func(*inputs, **more)
        else:
            result = self.fa3.flash_attn_varlen_func(*inputs, self.ends, self.ends, self.longest, self.longest, **more)
        O = result[0] if isinstance(result, tuple) else result  # older versions return LSE, too

        def call():
            return tuple(self.heads_first(x) for x in torch.autograd.grad(O, inputs, dO, retain_graph=True))

        return call

    @classmethod
    def warm(cls):
        """FlexAttention compiles for each mask: prepare()."""
