"""peers.py: PyTorch's attention with shared heads of keys, enable_gqa (grader/bench/attention_peers.py), in bf16. It knows
no pages: the cache is put together before, and is (B, H_k, N, d) or (B, N, H_k, d) in memory, whichever is faster."""

import torch
from attention_peers import BACKENDS, Forward, heads_outside, rows_outside, sdpa


class Peers(Forward):
    names = tuple(BACKENDS)
    kinds = ("pytorch",) * len(names)
    layout, other = (heads_outside, "B H N d"), (rows_outside, "B N H d")

    def __init__(self, bench, n):
        self.bench = bench
        B, H_q, H_k, N_q, N, d, page = n[:7]
        table = bench.get("page_table", (B, N // page), torch.int32).long()

        def cache(name):  # as (B, H_k, N, d)
            pages = bench.get(name, (B * N // page, H_k, page, d), self.dtype)
            return pages[table].transpose(1, 2).reshape(B, H_k, N, d)

        self.Q = bench.get("Q", (B, N_q, H_q, d), self.dtype).transpose(1, 2)
        self.K, self.V = cache("K_pages"), cache("V_pages")
        self.calls, self.layouts = zip(*(self.choose(name) for name in self.names))

    def timed(self, name, layout):
        Q, K, V = layout(self.Q), layout(self.K), layout(self.V)
        return lambda: (sdpa(BACKENDS[name], Q, K, V, False, enable_gqa=True), None)

    def deliver(self, peer, result):
        self.bench.put("O", result[0].transpose(1, 2))
        self.bench.put_agreed("LSE")

    @classmethod
    def warm(cls):
        """Nothing of it is compiled here."""
