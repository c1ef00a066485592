"""peers.py: PyTorch's cross-entropy and its backward pass, eager and compiled, and a kernel in Triton that walks along a
row twice and leaves the gradient in place of the logits (grader/bench/peers.py).

Logits and gradients are bf16. PyTorch computes in fp32 between them, as under autocast: in bf16 its log-probabilities,
near -11, would be rounded to sixteenths.
"""

import torch
import triton
import triton.language as tl

IGNORE_INDEX = -100
BLOCK, WARPS = 32768, 32  # logits that a program has at once


@triton.jit
def row_kernel(losses, LSE, logits, labels, count, V, stride, IGNORE: tl.constexpr, BLOCK: tl.constexpr):
    """A program for each row. count: how many rows count."""
    row = tl.program_id(0).to(tl.int64)
    x = logits + row * stride
    columns = tl.arange(0, BLOCK)
    label = tl.load(labels + row)
    if label == IGNORE:
        for begin in range(0, V, BLOCK):
            tl.store(x + begin + columns, 0.0, mask=begin + columns < V)
        tl.store(losses + row, 0.0)
        tl.store(LSE + row, 0.0)
        return
    share = 1.0 / tl.load(count).to(tl.float32)
    x_label = tl.load(x + label).to(tl.float32)  # now: the gradient takes its place
    m = float("-inf")
    l = 0.0
    for begin in range(0, V, BLOCK):
        block = tl.load(x + begin + columns, mask=begin + columns < V, other=float("-inf")).to(tl.float32)
        m_new = tl.maximum(m, tl.max(block))
        l = l * tl.exp(m - m_new) + tl.sum(tl.exp(block - m_new))
        m = m_new
    ln_l = tl.log(l)
    tl.store(losses + row, (m - x_label + ln_l) * share)
    tl.store(LSE + row, m + ln_l)
    tl.debug_barrier()  # every thread has read x_label before one stores
    for begin in range(0, V, BLOCK):
        there = begin + columns < V
        block = tl.load(x + begin + columns, mask=there, other=float("-inf")).to(tl.float32)
        gradient = tl.exp(block - m) * (share / l) - tl.where(begin + columns == label, share, 0.0)
        tl.store(x + begin + columns, gradient.to(logits.dtype.element_ty), mask=there)


def in_place(logits, labels):
    """The loss, and LSE, (rows), in fp32. logits, (rows, V) of bf16, then hold the gradient."""
    rows, V = logits.shape
    losses, LSE = torch.empty(2, rows, device=logits.device)
    count = (labels != IGNORE_INDEX).sum()
    row_kernel[(rows,)](losses, LSE, logits, labels, count, V, logits.stride(0), IGNORE=IGNORE_INDEX,
                        BLOCK=min(BLOCK, triton.next_power_of_2(V)), num_warps=WARPS)
    return losses.sum(), LSE


def loss_of(logits, labels):
    return torch.nn.functional.cross_entropy(logits.float(), labels, ignore_index=IGNORE_INDEX)


class Peers:
    names, kinds, looser = ("torch cross_entropy()", "torch.compile", "Triton in place"), ("pytorch", "triton", "triton"), 1.0
    functions = loss_of, torch.compile(loss_of, dynamic=False)

    def __init__(self, bench, n):
        self.bench = bench
        self.logits = bench.get("logits", n[:2], torch.bfloat16).requires_grad_()
        self.labels = bench.get("labels", n[:1], torch.int64)

    def ready(self, peer):
        self.bench.get_again("logits", self.logits)

    def call(self, peer):
        """Loss, gradient, and LSE if it is computed."""
        if peer == 2:
            logits = self.logits.detach()
            loss, LSE = in_place(logits, self.labels)
            return loss, logits, LSE
        loss = self.functions[peer](self.logits, self.labels)
        return loss, *torch.autograd.grad(loss, self.logits), None

    def deliver(self, peer, result):
        loss, gradient, LSE = result
        self.bench.put("loss", loss.detach())
        self.bench.put("logits", gradient)
        if LSE is None:
            self.bench.put_agreed("LSE")
        else:
            self.bench.put("LSE", LSE)
