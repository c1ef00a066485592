"""ops_others.py: the product of lesson 24, which is its own gradient, and the decoding of lesson 28, which has none."""

import torch

from . import library
from .ops_attention import BF16, FP32, Refusal, check, check_packed, operation

# ---- 24: C = A B, either of them stored transposed


def matrix(x):
    """x itself where TMA can read it: rows of neighbours, beginning at multiples of 16 bytes. Else a copy."""
    row = x.stride(0) if x.shape[0] > 1 else x.shape[1]
    in_place = (x.shape[1] == 1 or x.stride(1) == 1) and row >= x.shape[1] and row % 8 == 0 and x.data_ptr() % 16 == 0
    if in_place:
        return x, row
    # A row of another length than a multiple of 8 gets elements behind it that nobody reads.
    row = -(-x.shape[1] // 8) * 8
    copy = x.new_empty(x.shape[0], row)[:, :x.shape[1]]
    return copy.copy_(x), row


def product_shape(A, B, transpose_A, transpose_B):
    for name, x in (("A", A), ("B", B)):
        if x.dtype != BF16 or x.dim() != 2:
            raise TypeError(f"course::hopper_matmul: {name} is {x.dtype} with {x.dim()} axes, not {BF16} with 2")
    (M, K), (K_too, N) = A.shape[::-1] if transpose_A else A.shape, B.shape[::-1] if transpose_B else B.shape
    if K != K_too:
        raise ValueError(f"course::hopper_matmul: {K} columns of A, {K_too} rows of B")
    return M, N, K


def fake_matmul(A, B, transpose_A, transpose_B):
    M, N, _ = product_shape(A, B, transpose_A, transpose_B)
    return A.new_empty(M, N)


def matmul(A, B, transpose_A, transpose_B):
    M, N, K = product_shape(A, B, transpose_A, transpose_B)
    C = A.new_empty(M, -(-N // 8) * 8)  # its rows have to begin at multiples of 16 bytes, too
    (A, stride_A), (B, stride_B) = matrix(A), matrix(B)
    library.call("24_hopper_matmul", A.device, inputs={"A": A, "B": B}, outputs={"C": C},
                 numbers={"M": M, "N": N, "K": K, "first_A": 0, "first_B": 0, "first_C": 0, "stride_A": stride_A,
                          "stride_B": stride_B, "stride_C": C.shape[1], "transpose_A": transpose_A,
                          "transpose_B": transpose_B})
    return C if C.shape[1] == N else C[:, :N].contiguous()


def setup_matmul(ctx, inputs, output):
    A, B, ctx.transpose_A, ctx.transpose_B = inputs
    ctx.save_for_backward(A, B)


def backward_matmul(ctx, dC):
    """dA = dC B^T and dB = A^T dC, stored as A and B are. Products again, so that a second derivative is there."""
    (A, B), tA, tB = ctx.saved_tensors, ctx.transpose_A, ctx.transpose_B
    dA = dB = None
    if ctx.needs_input_grad[0]:
        dA = hopper_matmul(B, dC, tB, True) if tA else hopper_matmul(dC, B, False, not tB)
    if ctx.needs_input_grad[1]:
        dB = hopper_matmul(dC, A, True, tA) if tB else hopper_matmul(A, dC, not tA, False)
    return dA, dB, None, None


hopper_matmul = operation("hopper_matmul", "(Tensor A, Tensor B, bool transpose_A, bool transpose_B) -> Tensor", matmul,
                          fake_matmul, backward_matmul, setup_matmul)

# ---- 28: a few new queries, a cache in pages


def outputs_decode(Q, K_pages, V_pages, page_table, lengths, scale):
    check("flash_decode", BF16, Q=Q, K_pages=K_pages, V_pages=V_pages)
    B, N_q, H, d = Q.shape
    if K_pages.shape != V_pages.shape or K_pages.shape[3] != d:
        raise ValueError(f"course::flash_decode: pages of {tuple(K_pages.shape)} and {tuple(V_pages.shape)}, not both "
                         f"(pages, H_k, page_size, {d})")
    check_packed("flash_decode", torch.int32, (B,), lengths=lengths)
    check_packed("flash_decode", torch.int32, (B, page_table.shape[-1]), page_table=page_table)
    return Q.new_empty(B, N_q, H, d), Q.new_empty(B, H, N_q, dtype=FP32)


def flash_decode_run(Q, K_pages, V_pages, page_table, lengths, scale):
    O, LSE = outputs_decode(Q, K_pages, V_pages, page_table, lengths, scale)
    B, N_q, H, d = Q.shape
    H_k, page_size = K_pages.shape[1:3]
    room = library.workspace("28_flash_decode", "flash_decode_workspace_bytes", Q.device, B, N_q, H, H_k, d)
    inputs = {"Q": Q, "K_pages": K_pages, "V_pages": V_pages, "page_table": page_table, "lengths": lengths}
    inputs = {name: x.contiguous() for name, x in inputs.items()}
    # The kernel leaves the tickets zero. An engine would keep them from call to call; here each
    # call has its own.
    tickets = torch.zeros(B, H, dtype=torch.int32, device=Q.device)
    library.call("28_flash_decode", Q.device, inputs=inputs, outputs={"O": O, "LSE": LSE, "workspace": room},
                 both={"tickets": tickets},
                 numbers={"page_size": page_size, "max_pages": page_table.shape[1], "B": B, "N_q": N_q, "H": H, "H_k": H_k,
                          "d": d, "scale": float(scale)})
    return O, LSE


flash_decode = operation("flash_decode", "(Tensor Q, Tensor K_pages, Tensor V_pages, Tensor page_table, Tensor lengths, "
                         "float scale) -> (Tensor, Tensor)", flash_decode_run, outputs_decode,
                         Refusal("flash_decode", "decoding has no gradient: call it under torch.no_grad()"))
