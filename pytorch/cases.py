"""cases.py: of each lesson a few small inputs for its operations, and which query sees which key there."""

import dataclasses

import torch

from course_kernels import name_of

ops = torch.ops.course
BF16, FP16 = torch.bfloat16, torch.float16


@dataclasses.dataclass
class Case:
    name: str
    forward: object  # the operation
    Q: torch.Tensor
    K: torch.Tensor
    V: torch.Tensor
    options: tuple = ()
    seen: torch.Tensor = None  # (B or 1, H or 1, N_q, N_k)
    backward: object = None  # the gradient's operation, None where there is none
    backward_options: tuple = None  # those of the forward pass where it says nothing else
    gradient_of: str = None  # the lesson that it is
    softcap: float = 0.0
    pool: int = 0

    def __post_init__(self):
        if self.backward_options is None:
            self.backward_options = self.options
        self.scale = self.Q.shape[-1] ** -0.5


def fused(B, N, H, d, dtype, device):
    """Q, K and V as most models have them: three slices of one projection, so that a row is 3 H d long."""
    return torch.randn(B, N, 3, H, d, device=device).to(dtype).unbind(2)


def apart(B, N_q, N_k, H_q, H_k, d, dtype, device):
    return tuple(torch.randn(B, N, H, d, device=device).to(dtype) for N, H in ((N_q, H_q), (N_k, H_k), (N_k, H_k)))


def positions(N_q, N_k, device):
    """Of queries and of keys: the last query stands beside the last key."""
    return (torch.arange(N_q, device=device) + N_k - N_q)[:, None], torch.arange(N_k, device=device)[None]


def all_keys(Q, K):
    return torch.ones(1, 1, Q.shape[1], K.shape[1], dtype=torch.bool, device=Q.device)


def causal_keys(Q, K):
    q, k = positions(Q.shape[1], K.shape[1], Q.device)
    return (k <= q)[None, None]


def plain(lesson, forward, backward, dtype, d, device, group=1, more=(), backward_more=()):
    """Fused and causal; of any length, without a mask, at odd addresses that only a copy mends; more queries than keys,
    so that some see no key."""
    def case(name, causal, tensors):
        seen = (causal_keys if causal else all_keys)(*tensors[:2])
        return Case(name, forward, *tensors, (causal, *more), seen, backward, (causal, *backward_more), lesson)

    yield case("fused, causal", True, fused(2, 70, 2, d, dtype, device))
    wide = apart(1, 33, 101, 2 * group, 2, d + 5, dtype, device)
    yield case("ragged, rows that begin anywhere", False, tuple(x[..., 5:] for x in wide))
    yield case("queries without a key", True, apart(1, 50, 20, group, 1, d, dtype, device))


def of_12(device):
    for name, N_q, N_k in (("square", 32, 32), ("more keys", 16, 64)):
        tensors = apart(3, N_q, N_k, 1, 1, 32, FP16, device)
        yield Case(name, ops.flash_forward, *tensors, (), all_keys(*tensors[:2]), ops.flash_backward, (False,),
                   "15_flash_backward")


def of_18(device):
    def case(name, causal, window, sinks, prefix, documents, softcap):
        Q, K, V = fused(2, 150, 1, 64, BF16, device)
        q, k = (x[None, None] for x in positions(150, 150, device))
        ends = torch.tensor(documents, dtype=torch.int32, device=device) if documents else None
        start = torch.zeros(2, 1, 150, 1, dtype=torch.int64, device=device)
        seen = torch.ones(2, 1, 150, 150, dtype=torch.bool, device=device)
        if documents:
            of = [torch.searchsorted(row[1:].long().contiguous(), torch.arange(150, device=device), right=True)
                  for row in ends]
            known = [n < row.numel() - 1 for n, row in zip(of, ends)]
            seen = torch.stack([(n[:, None] == n[None]) & m[:, None] & m[None] for n, m in zip(of, known)])[:, None]
            start = torch.stack([row[n.clamp(max=row.numel() - 2)].long() for n, row in zip(of, ends)])[:, None, :, None]
        late = k <= q if causal else (k <= q + window if window else torch.ones_like(seen))
        early = torch.ones_like(seen) if not window else q - k < window if causal else q - k <= window
        seen = seen & (late | (k < start + prefix)) & (early | (k < start + sinks))
        return Case(name, ops.online_masks_forward, Q, K, V, (causal, window, sinks, prefix, ends, softcap), seen,
                    ops.online_masks_backward, None, "18_online_masks", softcap)

    yield case("window with sinks", True, 40, 3, 0, None, 0.0)
    yield case("documents, a prefix, a softcap", True, 0, 0, 5, [[0, 60, 60, 150], [0, 10, 130, 140]], 2.0)


def of_19(device):
    Q, K, V = fused(1, 300, 2, 64, BF16, device)
    mask = torch.tensor([[1, 0, 0], [1, 1, 0], [0, 0, 0]], dtype=torch.uint8, device=device).repeat(1, 2, 1, 1)
    mask[0, 1, 2] = 1
    seen = mask.bool().repeat_interleave(128, 2).repeat_interleave(128, 3)[:, :, :300, :300]
    yield Case("blocks, some rows without any", ops.block_sparse_forward, Q, K, V, (mask,), seen,
               ops.block_sparse_backward, None, "19_block_sparse")


def of_20(device):
    for name, causal, pool in (("pools of 32", False, 32), ("causal, pools of 7", True, 7)):
        Q, K, V = fused(1, 75, 2, 64, BF16, device)
        seen = (causal_keys if causal else all_keys)(Q, K)
        yield Case(name, ops.pooled_scores, Q, K, V, (causal, pool), seen, ops.flash_backward_split, (causal,),
                   "16_flash_backward_split", pool=pool)


def of_25(device):
    """26 has the gradient of all masks but lists, which come last."""
    yield from plain("26_hopper_backward", ops.hopper_flash, ops.hopper_backward, BF16, 64, device, 2, (0, None, None),
                     (0, None, True))
    Q, K, V = fused(1, 150, 1, 64, BF16, device)
    q, k = positions(150, 150, device)
    yield Case("window", ops.hopper_flash, Q, K, V, (True, 50, None, None), ((k <= q) & (q - k < 50))[None, None],
               ops.hopper_backward, (True, 50, None, True), "26_hopper_backward")
    ends = torch.tensor([[0, 70, 150]], dtype=torch.int32, device=device)
    yield Case("documents", ops.hopper_flash, Q, K, V, (False, 0, ends, None), ((q < 70) == (k < 70))[None, None],
               ops.hopper_backward, (False, 0, ends, True), "26_hopper_backward")
    lists = torch.tensor([[1, 0, 0], [1, 1, 0]], dtype=torch.int32, device=device).repeat(1, 1, 1, 1)
    yield Case("lists", ops.hopper_flash, Q, K, V, (False, 0, None, lists), (q // 128 == k // 128)[None, None])


def of_28(device):
    """Pages in any order, and one that nobody names, full of NaN. The keys as one array are a Case's K and V."""
    B, N_q, H, H_k, d, size = 2, 3, 4, 2, 64, 16
    lengths = torch.tensor([37, 2], dtype=torch.int32, device=device)
    table = torch.tensor([[4, 0, 2], [1, 9, 9]], dtype=torch.int32, device=device)
    pages = [torch.randn(5, H_k, size, d, device=device).to(BF16) for _ in "KV"]
    for x in pages:
        x[3] = torch.nan
    N_k = int(lengths.max())
    K, V = (torch.stack([x[row.clamp(max=4).long()].transpose(1, 2).reshape(-1, H_k, d)[:N_k] for row in table])
            .nan_to_num() for x in pages)
    i, j = torch.arange(N_q, device=device)[:, None], torch.arange(N_k, device=device)[None]
    seen = j < lengths.view(-1, 1, 1, 1) - N_q + 1 + i
    Q = torch.randn(B, N_q, H, d, device=device).to(BF16)

    def decode(Q, K, V, scale):
        return ops.flash_decode(Q, *pages, table, lengths, scale)

    case = Case("pages", decode, Q, K, V, (), seen)
    case.arguments = (Q, *pages, table, lengths, case.scale)  # for opcheck
    yield case


def cases(lesson, device):
    """Of an attention lesson; of a backward lesson those of its forward pass."""
    number = name_of(lesson)[:2]
    if number == "12":
        return of_12(device)
    if number in ("13", "15"):
        return plain("15_flash_backward", ops.causal_ragged, ops.flash_backward, FP16, 20, device)
    if number in ("14", "16"):
        return plain("16_flash_backward_split", ops.flash_tensor_core, ops.flash_backward_split, BF16, 64, device)
    if number == "17":
        return plain("17_gqa", ops.gqa_forward, ops.gqa_backward, BF16, 64, device, 3)
    return {"18": of_18, "19": of_19, "20": of_20, "25": of_25, "26": of_25, "28": of_28}[number](device)
