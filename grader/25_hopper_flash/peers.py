"""peers.py: PyTorch's attention in bf16 (grader/bench/attention_peers.py), and FlexAttention, compiled by Triton, where there
is a window, documents or lists of blocks; and FlashAttention-3 where FA3=path names the folder that its installed Python
module flash_attn_interface lies in. Without FA3 there is no row of it. Who cannot do a mask has no row of that size."""

import torch
from attention_peers import Forward, block_mask, flash_attention_3, index_mask, rows_outside
from torch.nn.attention.flex_attention import create_block_mask, flex_attention

BLOCK = 128
DOCUMENTS, CU_SEQLENS = 1, 13  # as in bench.c; 12 documents


class Peers(Forward):
    fa3 = flash_attention_3()
    names = ("FlashAttention-2", "SDPA cuDNN", "FlexAttention") + (("FlashAttention-3",) if fa3 else ())
    kinds = ("pytorch",) * len(names)

    def __init__(self, bench, n):
        self.window, self.density = n[5], n[6]
        self.ends, self.longest, self.blocks = None, n[1], None
        super().__init__(bench, n)

    def prepare(self):
        if not self.window and not self.density:
            return
        if self.density == DOCUMENTS:
            self.ends = self.bench.get("cu_seqlens", (CU_SEQLENS,), torch.int32)
            self.longest = int(self.ends.diff().max())
        if self.density > DOCUMENTS:
            self.blocks = block_mask(self.active(), BLOCK)
        else:
            seen = index_mask(self.N, self.causal, self.window, 0, self.ends)
            self.blocks = create_block_mask(seen, None, None, self.N, self.N, device="cuda")
        torch._dynamo.reset()  # a kernel for each mask, and no limit for all of them together
        self.flex = torch.compile(flex_attention, dynamic=False)
        self.flex(self.Q, self.K, self.V, block_mask=self.blocks)  # compiles
        torch.cuda.synchronize()

    def active(self):
        """The mask that the lists were made of."""
        T = self.N // BLOCK
        lists = self.bench.get("lists", (self.H * T * (1 + T) + 1,), torch.int32)[:-1].view(1, self.H, T, 1 + T).long()
        named = torch.arange(T, device="cuda") < lists[..., :1]
        active = torch.zeros(1, self.H, T, T + 1, dtype=torch.bool, device="cuda")
        active.scatter_(3, torch.where(named, lists[..., 1:], T), True)  # what follows a list goes to column T
        return active[..., :T].contiguous()

    def timed(self, name, layout):
        if name == "FlexAttention":
            if self.blocks is None:
                raise RuntimeError("for masks that others have not")
            return lambda: (self.flex(self.Q, self.K, self.V, block_mask=self.blocks), None)
        if self.density > DOCUMENTS:
            raise RuntimeError("no lists of blocks")
        if name == "FlashAttention-3":
            return self.flash_3()
        if self.blocks is None:
            return super().timed(name, layout)
        if name != "FlashAttention-2" or layout is not rows_outside:
            raise RuntimeError("no windows and no documents")
        return self.flash_2()

    def rows(self):
        """Q, K and V as (B, N, H, d); with documents as (N, H, d)."""
        arrays = (rows_outside(x).transpose(1, 2) for x in (self.Q, self.K, self.V))
        return arrays if self.ends is None else (x[0] for x in arrays)

    def heads_first(self, O):
        return O.view(self.B, self.N, self.H, self.d).transpose(1, 2)

    def flash_2(self):
        Q, K, V = self.rows()
        sides = {"window_size_left": self.window - 1, "window_size_right": 0} if self.window else {}

        def call():
            O = torch.ops.aten._flash_attention_forward(Q, K, V, self.ends, self.ends, self.longest, self.longest, 0.0,
                                                        self.causal, False, **sides)[0]
            return self.heads_first(O), None

        return call

    def flash_3(self):
        Q, K, V = self.rows()
        more = {"causal": self.causal}
        if self.window:
            more["window_size"] = (self.window - 1, 0)

        def call():
            if self.ends is None:
                result = self.fa3.flash_attn_func(Q, K, V, **more)
            else:
                result = self.fa3.flash_attn_varlen_func(Q, K, V, self.ends, self.ends, self.longest, self.longest, **more)
            O = result[0] if isinstance(result, tuple) else result  # older versions return LSE, too
            return self.heads_first(O), None

        return call

    @classmethod
    def warm(cls):
        """FlexAttention compiles for each mask: prepare()."""
