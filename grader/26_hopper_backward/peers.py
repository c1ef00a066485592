"""peers.py: PyTorch's attention in bf16 (grader/bench/attention_peers.py); and FlashAttention-3 where FA3=path names the
folder that its installed Python module flash_attn_interface lies in. Without FA3 there is no row of it."""

import torch
from attention_peers import BACKENDS, Backward, flash_attention_3, rows_outside


class Peers(Backward):
    fa3 = flash_attention_3()
    names = ("FlashAttention-2", "SDPA cuDNN") + (("FlashAttention-3",) if fa3 else ())
    kinds = ("pytorch",) * len(names)

    def timed(self, name, layout):
        if name in BACKENDS:
            return super().timed(name, layout)
        inputs = [rows_outside(x).transpose(1, 2).detach().requires_grad_() for x in (self.Q, self.K, self.V)]
        result = self.fa3.flash_attn_func(*inputs, causal=self.causal)
        O = result[0] if isinstance(result, tuple) else result  # older versions return LSE, too
        dO = rows_outside(self.dO).transpose(1, 2)

        def call():
            return tuple(x.transpose(1, 2) for x in torch.autograd.grad(O, inputs, dO, retain_graph=True))

        return call

    @classmethod
    def warm(cls):
        """Nothing is compiled when it is called."""
