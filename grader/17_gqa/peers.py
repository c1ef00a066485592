"""peers.py: PyTorch's attention with shared heads of keys, enable_gqa (grader/bench/attention_peers.py), in fp16."""

import math

import torch
from attention_peers import BACKENDS, ROUNDS_P, sdpa


class Peers:
    names = tuple(BACKENDS)
    kinds, looser = ("pytorch",) * len(names), ROUNDS_P
    layouts = ("B N H d",) * len(names)

    def __init__(self, bench, n):
        self.bench = bench
        H_q, H_k, N_q, N_k, d, causal, B, self.backward = n
        self.causal, self.group, self.d = bool(causal), H_q // H_k, d

        def input(name, N, H):  # as (B, H, N, d)
            return bench.get(name, (B, N, H, d), torch.float16).transpose(1, 2)

        self.Q, self.K, self.V = input("Q", N_q, H_q), input("K", N_k, H_k), input("V", N_k, H_k)
        if self.backward:
            self.dO = input("dO", N_q, H_q)
            self.put_forward()
            for x in (self.Q, self.K, self.V):
                x.requires_grad_()
            self.outputs = {}

    def put_forward(self):
        """The forward pass's O and LSE, in fp32, where the bench had random numbers."""
        O, LSE = torch.empty_like(self.Q), torch.empty(self.Q.shape[:3], device="cuda")
        later = torch.ones(self.Q.shape[2], self.K.shape[2], dtype=torch.bool, device="cuda").triu(1)
        for b in range(self.Q.shape[0]):
            for h in range(self.Q.shape[1]):
                S = self.Q[b, h].float() @ self.K[b, h // self.group].float().t() / math.sqrt(self.d)
                if self.causal:
                    S.masked_fill_(later, -math.inf)
                LSE[b, h] = S.logsumexp(1)
                O[b, h] = (S - LSE[b, h, :, None]).exp() @ self.V[b, h // self.group].float()
        self.bench.put("O", O.transpose(1, 2))
        self.bench.put("LSE", LSE)

    def attention(self, peer):
        backend = BACKENDS[self.names[peer]]
        return sdpa(backend, self.Q, self.K, self.V, self.causal, enable_gqa=True)

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
