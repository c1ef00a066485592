"""peers.py: PyTorch's attention in bf16 (grader/bench/attention_peers.py); and FlashAttention-3 where FA3=path names the
folder that its installed Python module flash_attn_interface lies in. Without FA3 there is no row of it."""

from attention_peers import BACKENDS, Forward, flash_attention_3, rows_outside


class Peers(Forward):
    fa3 = staticmethod(flash_attention_3())
    names = ("FlashAttention-2", "SDPA cuDNN") + (("FlashAttention-3",) if fa3.__func__ else ())
    kinds = ("pytorch",) * len(names)

    def timed(self, name, layout):
        if name in BACKENDS:
            return super().timed(name, layout)
        Q, K, V = (rows_outside(x).transpose(1, 2) for x in (self.Q, self.K, self.V))

        def call():
            result = self.fa3(Q, K, V, causal=self.causal)
            O = result[0] if isinstance(result, tuple) else result  # older versions return LSE, too
            return O.transpose(1, 2), None

        return call

    @classmethod
    def warm(cls):
        """Nothing is compiled when it is called."""
