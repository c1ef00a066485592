"""reference.py: attention and its gradients by definition, for the checks. Nothing of it is the course's or PyTorch's own
attention: S is stored, and every gradient is written out.
"""

import dataclasses

import torch


@dataclasses.dataclass
class Result:
    O: torch.Tensor  # (B, N_q, H, d)
    LSE: torch.Tensor  # (B, H, N_q)
    P: torch.Tensor  # (B, H, N_q, N_k)
    dQ: torch.Tensor
    dK: torch.Tensor
    dV: torch.Tensor


def heads_first(x, group=1):
    return x.transpose(1, 2).repeat_interleave(group, dim=1)


def attention(Q, K, V, dO, scale, seen, softcap=0.0, rounded=None):
    """In the precision of its inputs. seen: which query sees which key, (B or 1, H or 1, N_q, N_k).

    rounded: P and dS are rounded to this type for the products that they are in, and outputs at the end, as a kernel on
    tensor cores has to do: that makes it the standard implementation in this type.
    """
    kind, group = Q.dtype, Q.shape[2] // max(K.shape[2], 1)

    def r(x):
        return x.to(rounded).to(kind) if rounded else x

    q, k, v, do = heads_first(Q), heads_first(K, group), heads_first(V, group), heads_first(dO)
    raw = scale * q @ k.transpose(2, 3)
    S = softcap * torch.tanh(raw / softcap) if softcap else raw
    S = S.masked_fill(~seen, -torch.inf)
    LSE = torch.logsumexp(S, 3)
    P = torch.exp(S - LSE.unsqueeze(3)).masked_fill(~seen, 0)  # a row without keys is 0, not NaN
    O = r(r(P) @ v)
    delta = (do * O).sum(3, keepdim=True)
    dS = P * (do @ v.transpose(2, 3) - delta)
    if softcap:
        dS = dS * (1 - torch.tanh(raw / softcap) ** 2)

    def of_keys(x):  # the heads of a group add up
        B, _, N, d = x.shape
        return r(x.view(B, -1, group, N, d).sum(2)).transpose(1, 2)

    return Result(O.transpose(1, 2), LSE, P, r(scale * r(dS) @ k).transpose(1, 2),
                  of_keys(scale * r(dS).transpose(2, 3) @ q), of_keys(r(P).transpose(2, 3) @ do))


def exact_and_standard(Q, K, V, dO, scale, seen, softcap=0.0):
    """By definition in fp64; and in fp32 with the roundings of the type of Q."""
    exact = attention(*(x.double() for x in (Q, K, V, dO)), scale, seen, softcap)
    standard = attention(*(x.float() for x in (Q, K, V, dO)), scale, seen, softcap, rounded=Q.dtype)
    return exact, standard


def pooled(P, pool):
    """Means of P over pools of queries and keys; those at the ends may be smaller."""
    return torch.nn.functional.avg_pool2d(P, pool, ceil_mode=True)


def compare(name, got, exact, standard):
    """Nothing, or a sentence: what is wrong with `got`.

    The course's rule (grader/README.md): an error may be 3 times the standard implementation's largest one, and one
    unit in the last place. In fp32 (LSE, R) 8 times, and 8 units: there the standard's error is that of single sums, and
    a kernel adds up in another order, with the exp2 of the hardware.
    """
    times, ulps = (8, 8) if got.dtype == torch.float32 else (3, 1)
    got, ulp = got.double(), torch.finfo(got.dtype).eps
    if got.shape != exact.shape:
        return f"{name} has the shape {tuple(got.shape)}, not {tuple(exact.shape)}"
    finite = exact.isfinite()
    if not torch.equal(got[~finite], exact[~finite]):
        return f"{name} is {got[~finite].flatten()[:3].tolist()} where {exact[~finite].flatten()[:3].tolist()} is right"
    if not finite.any():
        return None
    slack = times * (standard.double() - exact)[finite].abs().max() + ulps * ulp * exact[finite].abs()
    error = (got - exact)[finite].abs()
    if bool((error <= slack).all()):  # NaN is not <= anything
        return None
    if got[finite].isnan().any():
        return f"{name} is NaN at {int(got[finite].isnan().sum())} of {error.numel()} elements: computed so, or not written"
    where = int(torch.argmax((error / slack).nan_to_num(0.0)))  # 0 / 0 is right
    return (f"{name} is off by {error[where]:.3g} at element {where} of those that are finite: {got[finite][where]:.6g}, "
            f"not {exact[finite][where]:.6g}; {slack[where]:.3g} is allowed")
