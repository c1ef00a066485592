"""triton_attention.py: attention forward and backward in Triton, as one would write it there: what the course's
kernels are compared with (peers.py).

Tensors are (B, H, N, d) by their strides, the last of which is 1, in fp16 or bf16; d is 16, 32, 64 or 128; N_q = N_k = N.
    S = scale Q K^T    P = softmax(S)    O = P V    LSE = ln sum exp(S)           (FlashAttention-2, algorithm 1)
    delta = rowsum(dO O)    dV = P^T dO    dS = P (dO V^T - delta)    dK = scale dS^T Q    dQ = scale dS K   (algorithm 2)
Exponentials are to the base 2: exp(x) = exp2(x log2(e)).

Tried without a GPU: TRITON_INTERPRET=1 python3 grader/bench/test/triton_attention.py
"""

import math

import torch
import triton
import triton.language as tl

LOG2_E = 1.4426950408889634

# BLOCK_Q, BLOCK_K, warps, stages
FORWARD_TILES = {64: (128, 64, 4, 3), 128: (128, 64, 8, 3)}
BACKWARD_TILES = {64: (64, 128, 8, 3), 128: (64, 128, 8, 2)}
DQ_TILES = {64: (128, 64, 8, 3), 128: (128, 64, 8, 2)}
SMALL = (64, 64, 4, 2)


@triton.jit
def weigh_keys(acc, m, l, q, K, V, stride_k, stride_v, rows, begin, end, N, scale2,
               CAUSAL: tl.constexpr, MASKED: tl.constexpr, BLOCK_K: tl.constexpr, D: tl.constexpr):
    """One pass over keys begin .. end - 1; MASKED: some of them may not exist or lie behind a query."""
    x = tl.arange(0, D)
    for j in range(begin, end, BLOCK_K):
        keys = j + tl.arange(0, BLOCK_K)
        there = keys < N
        if MASKED:
            k = tl.load(K + keys[None, :] * stride_k + x[:, None], mask=there[None, :], other=0.0)
            v = tl.load(V + keys[:, None] * stride_v + x[None, :], mask=there[:, None], other=0.0)
        else:
            k = tl.load(K + keys[None, :] * stride_k + x[:, None])
            v = tl.load(V + keys[:, None] * stride_v + x[None, :])
        S = tl.dot(q, k) * scale2
        if MASKED:
            seen = there[None, :]
            if CAUSAL:
                seen = seen & (keys[None, :] <= rows[:, None])
            S = tl.where(seen, S, float("-inf"))
        m_new = tl.maximum(m, tl.max(S, 1))
        alpha = tl.exp2(m - m_new)
        P = tl.exp2(S - m_new[:, None])
        l = l * alpha + tl.sum(P, 1)
        acc = tl.dot(P.to(v.dtype), v, acc * alpha[:, None])
        m = m_new
    return acc, m, l


@triton.jit
def forward_kernel(O, LSE, Q, K, V, qb, qh, qn, kb, kh, kn, vb, vh, vn, ob, oh, on, H, N, scale2,
                   CAUSAL: tl.constexpr, D: tl.constexpr, BLOCK_Q: tl.constexpr, BLOCK_K: tl.constexpr):
    """Grid: (query blocks, B H). The last query blocks, which see most keys, come first."""
    first = (tl.num_programs(0) - 1 - tl.program_id(0)) * BLOCK_Q
    b = (tl.program_id(1) // H).to(tl.int64)
    h = (tl.program_id(1) % H).to(tl.int64)
    rows = first + tl.arange(0, BLOCK_Q)
    x = tl.arange(0, D)
    q = tl.load(Q + b * qb + h * qh + rows[:, None] * qn + x[None, :], mask=rows[:, None] < N, other=0.0)
    m = tl.full([BLOCK_Q], float("-inf"), tl.float32)
    l = tl.zeros([BLOCK_Q], tl.float32)
    acc = tl.zeros([BLOCK_Q, D], tl.float32)
    K += b * kb + h * kh
    V += b * vb + h * vh
    end = tl.minimum(first + BLOCK_Q, N) if CAUSAL else N
    whole = (first if CAUSAL else N) // BLOCK_K * BLOCK_K
    acc, m, l = weigh_keys(acc, m, l, q, K, V, kn, vn, rows, 0, whole, N, scale2, CAUSAL, False, BLOCK_K, D)
    acc, m, l = weigh_keys(acc, m, l, q, K, V, kn, vn, rows, whole, end, N, scale2, CAUSAL, True, BLOCK_K, D)
    o = acc / l[:, None]
    tl.store(O + b * ob + h * oh + rows[:, None] * on + x[None, :], o.to(O.dtype.element_ty), mask=rows[:, None] < N)
    tl.store(LSE + (b * H + h) * N + rows, (m + tl.log2(l)) / 1.4426950408889634, mask=rows < N)


@triton.jit
def delta_kernel(delta, O, dO, ob, oh, on, db, dh, dn, H, N, D: tl.constexpr, BLOCK_Q: tl.constexpr):
    b = (tl.program_id(1) // H).to(tl.int64)
    h = (tl.program_id(1) % H).to(tl.int64)
    rows = tl.program_id(0) * BLOCK_Q + tl.arange(0, BLOCK_Q)
    x = tl.arange(0, D)
    o = tl.load(O + b * ob + h * oh + rows[:, None] * on + x[None, :], mask=rows[:, None] < N, other=0.0)
    do = tl.load(dO + b * db + h * dh + rows[:, None] * dn + x[None, :], mask=rows[:, None] < N, other=0.0)
    tl.store(delta + (b * H + h) * N + rows, tl.sum(o.to(tl.float32) * do.to(tl.float32), 1), mask=rows < N)


@triton.jit
def sum_over_queries(dk, dv, dQ, k, v, Q, dO, LSE, delta, stride_q, stride_do, stride_dq, keys, begin, end, N, scale,
                     CAUSAL: tl.constexpr, MASKED: tl.constexpr, ATOMIC: tl.constexpr, BLOCK_Q: tl.constexpr,
                     D: tl.constexpr):
    """dK and dV of a block of keys from queries begin .. end - 1, transposed: S^T is (keys, queries)."""
    x = tl.arange(0, D)
    for i in range(begin, end, BLOCK_Q):
        rows = i + tl.arange(0, BLOCK_Q)
        there = rows < N
        if MASKED:
            q = tl.load(Q + rows[:, None] * stride_q + x[None, :], mask=there[:, None], other=0.0)
            do = tl.load(dO + rows[:, None] * stride_do + x[None, :], mask=there[:, None], other=0.0)
            lse = tl.load(LSE + rows, mask=there, other=float("inf"))
            row_delta = tl.load(delta + rows, mask=there, other=0.0)
        else:
            q = tl.load(Q + rows[:, None] * stride_q + x[None, :])
            do = tl.load(dO + rows[:, None] * stride_do + x[None, :])
            lse = tl.load(LSE + rows)
            row_delta = tl.load(delta + rows)
        S = tl.dot(k, tl.trans(q)) * (scale * 1.4426950408889634)
        P = tl.exp2(S - lse[None, :] * 1.4426950408889634)
        if MASKED and CAUSAL:
            P = tl.where(keys[:, None] <= rows[None, :], P, 0.0)
        dv = tl.dot(P.to(do.dtype), do, dv)
        dS = P * (tl.dot(v, tl.trans(do)) - row_delta[None, :])
        dS = dS.to(q.dtype)
        dk = tl.dot(dS, q, dk)
        if ATOMIC:
            dq = tl.dot(tl.trans(dS), k) * scale
            tl.atomic_add(dQ + rows[:, None] * stride_dq + x[None, :], dq, mask=there[:, None], sem="relaxed")
    return dk, dv


@triton.jit
def dkdv_kernel(dQ, dK, dV, Q, K, V, dO, LSE, delta, qb, qh, qn, kb, kh, kn, vb, vh, vn, db, dh, dn, ab, ah, an,
                gb, gh, gn, H, N, scale, CAUSAL: tl.constexpr, ATOMIC: tl.constexpr, D: tl.constexpr,
                BLOCK_Q: tl.constexpr, BLOCK_K: tl.constexpr):
    """Grid: (key blocks, B H). dQ, in fp32 with strides a*, gets its part by atomic additions (ATOMIC) or not at all."""
    first = tl.program_id(0) * BLOCK_K
    b = (tl.program_id(1) // H).to(tl.int64)
    h = (tl.program_id(1) % H).to(tl.int64)
    keys = first + tl.arange(0, BLOCK_K)
    x = tl.arange(0, D)
    k = tl.load(K + b * kb + h * kh + keys[:, None] * kn + x[None, :], mask=keys[:, None] < N, other=0.0)
    v = tl.load(V + b * vb + h * vh + keys[:, None] * vn + x[None, :], mask=keys[:, None] < N, other=0.0)
    dk = tl.zeros([BLOCK_K, D], tl.float32)
    dv = tl.zeros([BLOCK_K, D], tl.float32)
    Q += b * qb + h * qh
    dO += b * db + h * dh
    dQ += b * ab + h * ah
    LSE += (b * H + h) * N
    delta += (b * H + h) * N
    begin = first // BLOCK_Q * BLOCK_Q if CAUSAL else 0
    # Three parts: queries that see some of the keys, all of them, and the last block, which may be
    # short.
    whole = N // BLOCK_Q * BLOCK_Q
    middle = tl.minimum(tl.cdiv(first + BLOCK_K, BLOCK_Q) * BLOCK_Q, whole) if CAUSAL else 0
    dk, dv = sum_over_queries(dk, dv, dQ, k, v, Q, dO, LSE, delta, qn, dn, an, keys, begin, middle, N, scale, CAUSAL,
                              True, ATOMIC, BLOCK_Q, D)
    dk, dv = sum_over_queries(dk, dv, dQ, k, v, Q, dO, LSE, delta, qn, dn, an, keys, middle, whole, N, scale, CAUSAL,
                              False, ATOMIC, BLOCK_Q, D)
    last = tl.maximum(whole, begin)
    dk, dv = sum_over_queries(dk, dv, dQ, k, v, Q, dO, LSE, delta, qn, dn, an, keys, last, N, N, scale, CAUSAL,
                              True, ATOMIC, BLOCK_Q, D)
    at = b * gb + h * gh + keys[:, None] * gn + x[None, :]
    tl.store(dK + at, (dk * scale).to(dK.dtype.element_ty), mask=keys[:, None] < N)
    tl.store(dV + at, dv.to(dV.dtype.element_ty), mask=keys[:, None] < N)


@triton.jit
def sum_over_keys(dq, q, do, lse, row_delta, K, V, stride_k, stride_v, rows, begin, end, N, scale,
                  CAUSAL: tl.constexpr, MASKED: tl.constexpr, BLOCK_K: tl.constexpr, D: tl.constexpr):
    x = tl.arange(0, D)
    for j in range(begin, end, BLOCK_K):
        keys = j + tl.arange(0, BLOCK_K)
        there = keys < N
        if MASKED:
            k = tl.load(K + keys[:, None] * stride_k + x[None, :], mask=there[:, None], other=0.0)
            v = tl.load(V + keys[:, None] * stride_v + x[None, :], mask=there[:, None], other=0.0)
        else:
            k = tl.load(K + keys[:, None] * stride_k + x[None, :])
            v = tl.load(V + keys[:, None] * stride_v + x[None, :])
        P = tl.exp2(tl.dot(q, tl.trans(k)) * (scale * 1.4426950408889634) - lse[:, None] * 1.4426950408889634)
        if MASKED:
            seen = there[None, :]
            if CAUSAL:
                seen = seen & (keys[None, :] <= rows[:, None])
            P = tl.where(seen, P, 0.0)
        dS = P * (tl.dot(do, tl.trans(v)) - row_delta[:, None])
        dq = tl.dot(dS.to(k.dtype), k, dq)
    return dq


@triton.jit
def dq_kernel(dQ, Q, K, V, dO, LSE, delta, qb, qh, qn, kb, kh, kn, vb, vh, vn, db, dh, dn, gb, gh, gn, H, N, scale,
              CAUSAL: tl.constexpr, D: tl.constexpr, BLOCK_Q: tl.constexpr, BLOCK_K: tl.constexpr):
    """Grid: (query blocks, B H)."""
    first = (tl.num_programs(0) - 1 - tl.program_id(0)) * BLOCK_Q
    b = (tl.program_id(1) // H).to(tl.int64)
    h = (tl.program_id(1) % H).to(tl.int64)
    rows = first + tl.arange(0, BLOCK_Q)
    x = tl.arange(0, D)
    q = tl.load(Q + b * qb + h * qh + rows[:, None] * qn + x[None, :], mask=rows[:, None] < N, other=0.0)
    do = tl.load(dO + b * db + h * dh + rows[:, None] * dn + x[None, :], mask=rows[:, None] < N, other=0.0)
    lse = tl.load(LSE + (b * H + h) * N + rows, mask=rows < N, other=float("inf"))
    row_delta = tl.load(delta + (b * H + h) * N + rows, mask=rows < N, other=0.0)
    dq = tl.zeros([BLOCK_Q, D], tl.float32)
    K += b * kb + h * kh
    V += b * vb + h * vh
    end = tl.minimum(first + BLOCK_Q, N) if CAUSAL else N
    whole = (first if CAUSAL else N) // BLOCK_K * BLOCK_K
    dq = sum_over_keys(dq, q, do, lse, row_delta, K, V, kn, vn, rows, 0, whole, N, scale, CAUSAL, False, BLOCK_K, D)
    dq = sum_over_keys(dq, q, do, lse, row_delta, K, V, kn, vn, rows, whole, end, N, scale, CAUSAL, True, BLOCK_K, D)
    at = b * gb + h * gh + rows[:, None] * gn + x[None, :]
    tl.store(dQ + at, (dq * scale).to(dQ.dtype.element_ty), mask=rows[:, None] < N)


def strides(*tensors):
    return [s for tensor in tensors for s in tensor.stride()[:3]]


def forward(Q, K, V, causal):
    """O like Q, and LSE, (B, H, N) in fp32."""
    B, H, N, d = Q.shape
    BLOCK_Q, BLOCK_K, warps, stages = FORWARD_TILES.get(d, SMALL)
    O, LSE = torch.empty_like(Q), torch.empty(B, H, N, device=Q.device, dtype=torch.float32)
    forward_kernel[triton.cdiv(N, BLOCK_Q), B * H](
        O, LSE, Q, K, V, *strides(Q, K, V, O), H, N, LOG2_E / math.sqrt(d), CAUSAL=causal, D=d,
        BLOCK_Q=BLOCK_Q, BLOCK_K=BLOCK_K, num_warps=warps, num_stages=stages)
    return O, LSE


def backward(Q, K, V, O, LSE, dO, causal, split):
    """dQ, dK, dV like Q. split: dQ in a kernel of its own; else by atomic additions in fp32."""
    B, H, N, d = Q.shape
    scale = 1 / math.sqrt(d)
    delta = torch.empty_like(LSE)
    delta_kernel[triton.cdiv(N, 64), B * H](delta, O, dO, *strides(O, dO), H, N, D=d, BLOCK_Q=64)
    dQ, dK, dV = torch.empty_like(Q), torch.empty_like(K), torch.empty_like(K)
    sums = dQ if split else torch.zeros_like(Q, dtype=torch.float32)
    BLOCK_Q, BLOCK_K, warps, stages = BACKWARD_TILES.get(d, SMALL)
    dkdv_kernel[triton.cdiv(N, BLOCK_K), B * H](
        sums, dK, dV, Q, K, V, dO, LSE, delta, *strides(Q, K, V, dO, sums, dK), H, N, scale, CAUSAL=causal,
        ATOMIC=not split, D=d, BLOCK_Q=BLOCK_Q, BLOCK_K=BLOCK_K, num_warps=warps, num_stages=stages)
    if not split:
        return dQ.copy_(sums), dK, dV
    BLOCK_Q, BLOCK_K, warps, stages = DQ_TILES.get(d, SMALL)
    dq_kernel[triton.cdiv(N, BLOCK_Q), B * H](
        dQ, Q, K, V, dO, LSE, delta, *strides(Q, K, V, dO, dQ), H, N, scale, CAUSAL=causal, D=d,
        BLOCK_Q=BLOCK_Q, BLOCK_K=BLOCK_K, num_warps=warps, num_stages=stages)
    return dQ, dK, dV
