"""peers.py: PyTorch's attention with shared heads of keys, enable_gqa (grader/bench/attention_peers.py), in bf16."""

import torch
from attention_peers import BACKENDS, WithGradients, sdpa


class Peers(WithGradients):
    names = tuple(BACKENDS)
    kinds, looser = ("pytorch",) * len(names), 1.0
    layouts = ("B N H d",) * len(names)

    def __init__(self, bench, n):
        self.bench = bench
        H_q, H_k, N_q, N_k, d, causal, B, self.backward = n
        self.causal = bool(causal)

        def input(name, N, H):  # as (B, H, N, d)
            return bench.get(name, (B, N, H, d), torch.bfloat16).transpose(1, 2)

        self.Q, self.K, self.V = input("Q", N_q, H_q), input("K", N_k, H_k), input("V", N_k, H_k)
        if self.backward:
            self.prepare_backward(input("dO", N_q, H_q), self.causal)

    def attention(self, peer):
        backend = BACKENDS[self.names[peer]]
        return sdpa(backend, self.Q, self.K, self.V, self.causal, enable_gqa=True)
