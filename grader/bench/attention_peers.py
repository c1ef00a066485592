"""attention_peers.py: what the peers.py of the attention lessons share: PyTorch's attention with its backend pinned,
and the kernels of triton_attention.py.

In memory, heads lie inside the rows, as the course's do, or outside. Each backend of PyTorch gets the layout that is faster
for it, and the record says which; the naive backend and Triton's kernels get the course's. Nothing asks for gradients in the forward
lessons, so that a backend may leave LSE away. Of the backward pass only torch.autograd.grad() is timed, on a graph
that is kept: the forward pass is not in it, while all that the backward pass needs (delta, conversions, memory from
PyTorch's cache) is. Triton's backward has delta and conversions in it as well.

Peers round P and dS to 16 bits. Where a contract does not allow that (fp16: lessons 12, 13, 15), their errors may be
ROUNDS_P times those of the course's kernels.
"""

import math
import os
import sys

import torch
import triton_attention
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.nn.attention.flex_attention import BlockMask

ROUNDS_P = 4.0
BACKENDS = {"FlashAttention-2": SDPBackend.FLASH_ATTENTION, "SDPA cuDNN": SDPBackend.CUDNN_ATTENTION,
            "SDPA efficient": SDPBackend.EFFICIENT_ATTENTION, "SDPA math": SDPBackend.MATH}

heads_outside = torch.Tensor.contiguous


def rows_outside(tensor):  # (B, H, N, d) that is (B, N, H, d) in memory
    return tensor.transpose(1, 2).contiguous().transpose(1, 2)


def sdpa(backend, Q, K, V, causal, **more):
    with sdpa_kernel(backend):
        return torch.nn.functional.scaled_dot_product_attention(Q, K, V, is_causal=causal, **more)


def flash_attention_3():
    """FlashAttention-3's Python module, whose functions take (B, N, H, d) tensors, where FA3=path names the folder that
    its installed flash_attn_interface lies in; else None."""
    if not os.environ.get("FA3"):
        return None
    sys.path.insert(0, os.environ["FA3"])
    import flash_attn_interface

    return flash_attn_interface


def exact_forward(Q, K, V, causal, shown=None):
    """O like Q and LSE of (B, H, N_q, d), computed in fp32 a head at a time. Query head h has key head h / group.
    Scores where `shown`, (1, H, N_q, N_k), is not True are hidden. Every query has to see a key."""
    O, LSE = torch.empty_like(Q), torch.empty(Q.shape[:3], device=Q.device)
    group = Q.shape[1] // K.shape[1]
    later = torch.ones(Q.shape[2], K.shape[2], dtype=torch.bool, device=Q.device).triu(1)
    for b in range(Q.shape[0]):
        for h in range(Q.shape[1]):
            S = Q[b, h].float() @ K[b, h // group].float().t() / math.sqrt(Q.shape[3])
            if causal:
                S.masked_fill_(later, -math.inf)
            if shown is not None:
                S.masked_fill_(~shown[0, h], -math.inf)
            LSE[b, h] = S.logsumexp(1)
            O[b, h] = S.sub_(LSE[b, h, :, None]).exp_() @ V[b, h // group].float()
    return O, LSE


def index_mask(N, causal, window=0, sinks=0, ends=None):
    """For FlexAttention: does query q see key k?  ends: where documents begin, and the end of the last."""
    document = None
    if ends is not None:
        document = torch.bucketize(torch.arange(N, device="cuda"), ends, right=True)

    def seen(b, h, q, k):
        shown = q >= k if causal else q - k <= window
        if window:
            shown = shown & ((q - k < window) | (k < sinks) if causal else k - q <= window)
        if document is not None:
            shown = shown & (document[q] == document[k])
        return shown

    return seen


def block_mask(active, size):
    """For FlexAttention: blocks of size x size that are seen whole where `active`, (1, H, T, T), is True."""
    count = active.sum(-1, dtype=torch.int32)
    which = active.int().argsort(dim=-1, descending=True, stable=True).int().contiguous()
    return BlockMask.from_kv_blocks(torch.zeros_like(count), which, full_kv_num_blocks=count, full_kv_indices=which,
                                    BLOCK_SIZE=size)


class WithGradients:
    """What lessons 17 and 19 share: `backward` says which pass a size is, Q, K, V (and dO) are (B, H, N, d), and attention(peer)
    runs a peer's forward pass."""

    def prepare_backward(self, dO, causal, shown=None):
        O, LSE = exact_forward(self.Q, self.K, self.V, causal, shown)
        self.bench.put("O", O.transpose(1, 2))
        self.bench.put("LSE", LSE)
        self.dO, self.outputs = dO, {}
        for x in (self.Q, self.K, self.V):
            x.requires_grad_()

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


def median_ms(call, runs=5):
    times = []
    call()
    for _ in range(runs):
        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        torch.cuda._sleep(1000000)  # half a millisecond in which the work gets into the stream
        begin.record()
        call()
        end.record()
        end.synchronize()
        times.append(begin.elapsed_time(end))
    return sorted(times)[runs // 2]


def beside_fa3(peers):
    """The class `peers`, and FlashAttention-3 as its last peer where FA3=path names it."""
    module = flash_attention_3()
    if not module:
        return peers
    return type("Peers", (peers,), {"fa3": module, "names": (*peers.names, "FlashAttention-3"),
                                    "kinds": (*peers.kinds, "pytorch")})


class Forward:
    names = (*BACKENDS, "Triton")
    kinds = ("pytorch",) * len(BACKENDS) + ("triton",)
    looser = 1.0
    dtype = torch.bfloat16
    batched = True  # the lesson's sizes begin with B; else B = 1
    layout, other = (rows_outside, "B N H d"), (heads_outside, "B H N d")

    def __init__(self, bench, n):
        self.bench = bench
        self.B, self.N, self.d, self.causal = n[0] if self.batched else 1, n[1], n[2], bool(n[3])
        self.H = bench.bytes("Q") // (2 * self.B * self.N * self.d)
        self.Q, self.K, self.V = (self.input(name) for name in "QKV")
        self.prepare()
        self.calls, self.layouts = zip(*(self.choose(name) for name in self.names))

    def prepare(self):
        """Backward needs more."""

    def input(self, name):  # as (B, H, N, d)
        if self.layout[0] is heads_outside:
            return self.bench.get(name, (self.B, self.H, self.N, self.d), self.dtype)
        return self.bench.get(name, (self.B, self.N, self.H, self.d), self.dtype).transpose(1, 2)

    def put(self, name, tensor):
        self.bench.put(name, tensor if self.layout[0] is heads_outside else tensor.transpose(1, 2))

    def timed(self, name, layout):
        """A function that does what is timed, its tensors made before."""
        if name == "FlashAttention-3":
            inputs = self.rows_of(self.Q, self.K, self.V)
            return lambda: (self.flash_3(*inputs).transpose(1, 2), None)
        Q, K, V = layout(self.Q), layout(self.K), layout(self.V)
        if name == "Triton":
            return lambda: triton_attention.forward(Q, K, V, self.causal)
        return lambda: (sdpa(BACKENDS[name], Q, K, V, self.causal), None)

    def rows_of(self, *tensors):
        """As (B, N, H, d), which FlashAttention-3 takes."""
        return [rows_outside(x).transpose(1, 2).detach() for x in tensors]

    def flash_3(self, Q, K, V):
        result = self.fa3.flash_attn_func(Q, K, V, causal=self.causal)
        return result[0] if isinstance(result, tuple) else result  # older versions return LSE, too

    def choose(self, name):
        """That function for the faster layout, and the layout's name."""
        single = name not in BACKENDS or BACKENDS[name] == SDPBackend.MATH
        best = None
        for layout, label in (self.layout,) if single else (self.layout, self.other):
            try:
                call = self.timed(name, layout)
                ms = 0 if single else median_ms(call)
                if best is None or ms < best[0]:
                    best = ms, call, label
            except RuntimeError:  # refused or no memory: the bench is told when it calls
                torch.cuda.empty_cache()
        return best[1:] if best else (lambda: self.timed(name, self.layout[0])(), "")

    def call(self, peer):
        return self.calls[peer]()

    def deliver(self, peer, result):
        O, LSE = result
        self.put("O", O)
        if LSE is None:  # PyTorch does not return it
            self.bench.put_agreed("LSE")
        else:
            self.bench.put("LSE", LSE)

    @classmethod
    def warm(cls):
        """Triton compiles for each d and mask, and again for an N that 16 does not divide."""
        for N, d in ((256, 64), (256, 128), (257, 128)):
            for causal in (False, True):
                cls.warm_one(*(torch.zeros(1, N, 32, d, dtype=cls.dtype, device="cuda").transpose(1, 2)
                               for _ in range(4)), causal)

    @classmethod
    def warm_one(cls, Q, K, V, dO, causal):
        triton_attention.forward(Q, K, V, causal)


class Backward(Forward):
    names = (*BACKENDS, "Triton atomic dQ", "Triton split")
    kinds = ("pytorch",) * len(BACKENDS) + ("triton",) * 2

    def prepare(self):
        """Puts the forward pass's O and LSE where the bench had random numbers."""
        O, LSE = exact_forward(self.Q, self.K, self.V, self.causal)
        self.put("O", O)
        self.bench.put("LSE", LSE)
        self.O, self.LSE, self.dO = O, LSE, self.input("dO")

    def timed(self, name, layout):
        if name == "FlashAttention-3":
            *inputs, dO = self.rows_of(self.Q, self.K, self.V, self.dO)
            O = self.flash_3(*(x.requires_grad_() for x in inputs))
            return lambda: [x.transpose(1, 2) for x in torch.autograd.grad(O, inputs, dO, retain_graph=True)]
        if name not in BACKENDS:
            Q, K, V, O, dO = (layout(x) for x in (self.Q, self.K, self.V, self.O, self.dO))
            return lambda: triton_attention.backward(Q, K, V, O, self.LSE, dO, self.causal, "split" in name)
        inputs = [layout(x).detach().requires_grad_() for x in (self.Q, self.K, self.V)]
        O, dO = sdpa(BACKENDS[name], *inputs, self.causal), layout(self.dO)
        return lambda: torch.autograd.grad(O, inputs, dO, retain_graph=True)

    def deliver(self, peer, gradients):
        for name, gradient in zip(("dQ", "dK", "dV"), gradients):
            self.put(name, gradient)

    @classmethod
    def warm_one(cls, Q, K, V, dO, causal):
        LSE = torch.zeros(Q.shape[:3], device="cuda")
        for split in (False, True):
            triton_attention.backward(Q, K, V, Q, LSE, dO, causal, split)
