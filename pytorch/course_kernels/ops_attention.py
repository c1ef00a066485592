"""ops_attention.py: the kernels of lessons 12 to 20, 25 and 26 as operations of PyTorch, torch.ops.course.*.

Every operation is four things, and pytorch/README.md goes through them line by line:

    the implementation    checks, makes the outputs, calls the launcher
    the fake              the outputs' shapes and types alone, for torch.compile
    setup                 what the forward pass leaves for the backward pass
    backward              calls the other half, which is an operation as well

Tensors are (B, N, H, d), as in the contracts. scaled_dot_product_attention has (B, H, N, d): x.transpose(1, 2) is the
other one, and copies nothing.
"""

import torch

from . import library

BF16, FP16, FP32 = torch.bfloat16, torch.float16, torch.float32


# ---- what the kernels ask of a tensor

def check(name, dtype, **tensors):
    """Types and devices. A kernel sees addresses: of another type it would compute nonsense without a word."""
    device = next(iter(tensors.values())).device
    for of, x in tensors.items():
        if x.dtype != dtype:
            raise TypeError(f"course::{name}: {of} is {x.dtype}, and the kernel reads {dtype}")
        if x.dim() != 4:
            raise ValueError(f"course::{name}: {of} has {x.dim()} axes, not 4: (B, N, H, d)")
        if x.device != device:
            raise ValueError(f"course::{name}: {of} is on {x.device}, others on {device}")


def check_shapes(name, Q, K, V):
    B, _, _, d = Q.shape
    if K.shape != V.shape or K.shape[0] != B or K.shape[3] != d:
        raise ValueError(f"course::{name}: Q {tuple(Q.shape)}, K {tuple(K.shape)}, V {tuple(V.shape)} do not fit")


def check_packed(name, dtype, shape, **tensors):
    """Small arrays without strides: a mask, lengths, lists. None is left out."""
    for of, x in tensors.items():
        if x is not None and (x.dtype != dtype or tuple(x.shape) != tuple(shape)):
            raise ValueError(f"course::{name}: {of} is {x.dtype} {tuple(x.shape)}, not {dtype} {tuple(shape)}")


def rows(x):
    """x itself where a kernel can read it in place, else a packed copy of it.

    The contracts take any strides, but each row has its elements side by side, rows do not overlap, and for 16-byte
    loads of bf16 each begins at a multiple of 16 bytes. A transpose, a slice of heads, one of three in a fused
    projection: no copy. The gradient of a sum is one number with four strides of 0: a copy.
    """
    unit = 16 if x.dtype == BF16 else x.element_size()
    batch, row, head = library.strides(x)
    steps = (x.data_ptr(), *(stride * x.element_size() for stride in (batch, row, head)))
    in_place = (x.shape[3] == 1 or x.stride(3) == 1) and row >= x.shape[3] and all(step % unit == 0 for step in steps)
    return x if in_place else x.contiguous()


# ---- outputs: the implementation fills them, the fake is nothing else

def outputs_forward(Q):
    """O and LSE, packed."""
    B, N_q, H, d = Q.shape
    return Q.new_empty(B, N_q, H, d), Q.new_empty(B, H, N_q, dtype=FP32)


def outputs_backward(Q, K, V):
    """dQ, dK and dV, packed, whatever the strides of Q, K and V."""
    return tuple(x.new_empty(x.shape) for x in (Q, K, V))


# ---- the calls, by the names that grader/NN_name/call.c asks for

def sizes(Q, K, scale):
    B, N_q, H, d = Q.shape
    return {"B": B, "N_q": N_q, "N_k": K.shape[1], "H": H, "H_k": K.shape[2], "d": d, "scale": float(scale)}


def run_forward(lesson, Q, K, V, scale, outputs, numbers, inputs=None, both=None, extra=None):
    O, LSE = outputs
    Q, K, V = rows(Q), rows(K), rows(V)
    library.call(lesson, Q.device, rows={"Q": Q, "K": K, "V": V}, rows_out={"O": O},
                 outputs={"LSE": LSE, **(extra or {})}, inputs=inputs, both=both,
                 numbers={**sizes(Q, K, scale), "backward": 0, **numbers})


def run_backward(lesson, tensors, scale, workspace, numbers, inputs=None):
    """delta_i = sum_x dO_ix O_ix is computed in here, once, into the workspace. It lives no longer than this call."""
    Q, K, V, O, LSE, dO = tensors
    dQ, dK, dV = outputs_backward(Q, K, V)
    Q, K, V, O, dO = (rows(x) for x in (Q, K, V, O, dO))
    library.call(lesson, Q.device, rows={"Q": Q, "K": K, "V": V, "O": O, "dO": dO},
                 rows_out={"dQ": dQ, "dK": dK, "dV": dV}, inputs={"LSE": LSE.contiguous(), **(inputs or {})},
                 outputs={"workspace": workspace}, numbers={**sizes(Q, K, scale), "backward": 1, **numbers})
    return dQ, dK, dV


# ---- an operation of each kind

class Refusal:
    """The derivative of an operation that has none: an error that says why, instead of a wrong number."""

    def __init__(self, name, why):
        self.text = f"course::{name}: {why}"

    def __call__(self, ctx, *gradients):
        raise NotImplementedError(self.text)


TWICE = ("the gradient of a gradient is not there. It needs another kernel: what is differentiated is P * (dP - delta), "
         "and this one keeps neither P nor dP. torch.nn.functional.scaled_dot_product_attention under "
         "sdpa_kernel(SDPBackend.MATH) has it")


def operation(name, schema, run, fake, backward, setup=None):
    """Registers course::name. mutates_args: no argument is written to, and no output shares memory with one."""
    op = torch.library.custom_op(f"course::{name}", run, mutates_args=(), schema=schema)
    op.register_fake(fake)
    op.register_autograd(backward, setup_context=setup)
    return op


def forward_operation(lesson, name, dtype, run, options="", gradient=None, more=None):
    """An operation (Q, K, V, scale, options...) -> (O, LSE, more...).

    run(Q, K, V, scale, outputs, *options) fills the outputs; gradient(*saved, dO, scale, *options) returns dQ, dK, dV.
    Tensors among the options are saved like Q, K and V: a number could not be freed, and a tensor kept in a Python
    attribute would be, or be overwritten, unnoticed.
    """
    def outputs(Q, K, V, scale, *options):
        check(name, dtype, Q=Q, K=K, V=V)
        check_shapes(name, Q, K, V)
        return (*outputs_forward(Q), *(more(Q, K, *options) if more else ()))

    def implementation(Q, K, V, scale, *options):
        made = outputs(Q, K, V, scale, *options)
        run(Q, K, V, scale, made, *options)
        return made

    def setup(ctx, inputs, output):
        Q, K, V, ctx.scale, *options = inputs
        O, LSE, *others = output
        ctx.save_for_backward(Q, K, V, O, LSE, *(x for x in options if isinstance(x, torch.Tensor)))
        ctx.options = [None if isinstance(x, torch.Tensor) else x for x in options]
        ctx.tensors = [isinstance(x, torch.Tensor) for x in options]
        # These two say of themselves that they have no gradient: a loss of them alone is an error.
        ctx.mark_non_differentiable(LSE, *others)
        ctx.set_materialize_grads(False)  # no zeros for outputs that no loss depends on

    def backward(ctx, dO, *unused):
        Q, K, V, O, LSE, *saved = ctx.saved_tensors
        options = [saved.pop(0) if tensor else x for x, tensor in zip(ctx.options, ctx.tensors)]
        none = (None,) * (1 + len(options))
        if dO is None:
            return (None, None, None, *none)
        return (*gradient(Q, K, V, O, LSE, dO, ctx.scale, *options), *none)

    returns = "Tensor, Tensor" + (", Tensor" if more else "")
    schema = f"(Tensor Q, Tensor K, Tensor V, float scale{options}) -> ({returns})"
    return operation(name, schema, implementation, outputs, backward, setup)


def backward_operation(lesson, name, dtype, workspace, options="", arguments=lambda Q, K, *options: ({}, {})):
    """An operation (Q, K, V, O, LSE, dO, scale, options...) -> (dQ, dK, dV).

    arguments(Q, K, *options) returns numbers and inputs for call.c; workspace(Q, K) the sizes that the contract's
    function of the workspace takes, behind its name.
    """
    def outputs(Q, K, V, O, LSE, dO, scale, *options):
        check(name, dtype, Q=Q, K=K, V=V, O=O, dO=dO)
        check_shapes(name, Q, K, V)
        check_packed(name, FP32, (Q.shape[0], Q.shape[2], Q.shape[1]), LSE=LSE)
        return outputs_backward(Q, K, V)

    def implementation(Q, K, V, O, LSE, dO, scale, *options):
        outputs(Q, K, V, O, LSE, dO, scale, *options)
        numbers, inputs = arguments(Q, K, *options)
        function, *n = workspace(Q, K)
        return run_backward(lesson, (Q, K, V, O, LSE, dO), scale, library.workspace(lesson, function, Q.device, *n),
                            numbers, inputs)

    schema = (f"(Tensor Q, Tensor K, Tensor V, Tensor O, Tensor LSE, Tensor dO, float scale{options})"
              " -> (Tensor, Tensor, Tensor)")
    return operation(name, schema, implementation, outputs, Refusal(name, TWICE))


def rows_and_heads(function):
    """workspace() of most lessons: function(B, N_q, H)."""
    return lambda Q, K: (function, *Q.shape[:3])


def rows_heads_and_d(function):
    return lambda Q, K: (function, *Q.shape)


# ---- the plain masks: 13 and 15 in fp16, 14 and 16 in bf16, 17 and 26 with shared heads

CAUSAL = ", bool causal"


def causal_numbers(Q, K, causal):
    return {"causal": causal}, {}


flash_backward = backward_operation("15_flash_backward", "flash_backward", FP16,
                                    rows_heads_and_d("flash_backward_workspace_bytes"), CAUSAL, causal_numbers)
flash_backward_split = backward_operation("16_flash_backward_split", "flash_backward_split", BF16,
                                          rows_and_heads("flash_backward_split_workspace_bytes"), CAUSAL, causal_numbers)
gqa_backward = backward_operation("17_gqa", "gqa_backward", BF16, rows_and_heads("gqa_backward_workspace_bytes"), CAUSAL,
                                  causal_numbers)


def arguments_26(Q, K, causal, window, cu_seqlens, deterministic):
    documents = 0 if cu_seqlens is None else cu_seqlens.shape[-1] - 1
    check_packed("hopper_backward", torch.int32, (Q.shape[0], documents + 1), cu_seqlens=cu_seqlens)
    return ({"causal": causal, "window": window, "documents": documents, "deterministic": deterministic},
            {"cu_seqlens": None if cu_seqlens is None else cu_seqlens.contiguous()})


hopper_backward = backward_operation("26_hopper_backward", "hopper_backward", BF16,
                                     rows_heads_and_d("hopper_backward_workspace_bytes"),
                                     CAUSAL + ", int window, Tensor? cu_seqlens, bool deterministic", arguments_26)


def plain_forward(lesson, name, dtype, gradient):
    def run(Q, K, V, scale, outputs, causal):
        run_forward(lesson, Q, K, V, scale, outputs, {"causal": causal})
    return forward_operation(lesson, name, dtype, run, CAUSAL, gradient)


causal_ragged = plain_forward("13_causal_ragged", "causal_ragged", FP16, flash_backward)
flash_tensor_core = plain_forward("14_flash_tensor_core", "flash_tensor_core", BF16, flash_backward_split)
gqa_forward = plain_forward("17_gqa", "gqa_forward", BF16, gqa_backward)


# ---- 12: heads count as batches there, so the axis H has length 1; its gradient is lesson 15's

def run_12(Q, K, V, scale, outputs):
    O, LSE = outputs
    if Q.shape[2] != 1 or K.shape[2] != 1:
        raise ValueError("course::flash_forward: heads are batches in lesson 12: (B * H, N, 1, d)")
    Q, K, V = rows(Q), rows(K), rows(V)
    numbers = {"B": Q.shape[0], "N_q": Q.shape[1], "N_k": K.shape[1], "d": Q.shape[3], "scale": float(scale),
               "stride_lb": Q.shape[1]}
    for name, x in (("q", Q), ("k", K), ("v", V), ("o", O)):
        numbers[f"stride_{name}b"], numbers[f"stride_{name}n"], _ = library.strides(x)
    library.call("12_flash_forward", Q.device, rows={"Q": Q, "K": K, "V": V}, rows_out={"O": O}, outputs={"LSE": LSE},
                 numbers=numbers)


def one_head_backward(*tensors_and_scale):
    return flash_backward(*tensors_and_scale, False)


flash_forward = forward_operation("12_flash_forward", "flash_forward", FP16, run_12, "", one_head_backward)


# ---- 18: masks that are computed on the way

MASK = ", bool causal, int window, int sinks, int prefix, Tensor? cu_seqlens, float softcap"


def mask_arguments(Q, K, causal, window, sinks, prefix, cu_seqlens, softcap):
    documents = 0 if cu_seqlens is None else cu_seqlens.shape[-1] - 1
    check_packed("online_masks", torch.int32, (Q.shape[0], documents + 1), cu_seqlens=cu_seqlens)
    return ({"mask.causal": causal, "mask.window": window, "mask.sinks": sinks, "mask.prefix": prefix,
             "mask.documents": documents, "mask.softcap": float(softcap)},
            {"cu_seqlens": None if cu_seqlens is None else cu_seqlens.contiguous()})


def run_18(Q, K, V, scale, outputs, *mask):
    numbers, inputs = mask_arguments(Q, K, *mask)
    run_forward("18_online_masks", Q, K, V, scale, outputs, numbers, inputs)


online_masks_backward = backward_operation("18_online_masks", "online_masks_backward", BF16,
                                           rows_and_heads("online_masks_workspace_bytes"), MASK, mask_arguments)
online_masks_forward = forward_operation("18_online_masks", "online_masks_forward", BF16, run_18, MASK,
                                         online_masks_backward)


# ---- 19: blocks of 128 x 128 scores that are left out

BLOCK = 128


def blocks(n):
    return (n + BLOCK - 1) // BLOCK


def block_arguments(Q, K, mask):
    check_packed("block_sparse", torch.uint8, (Q.shape[0], Q.shape[2], blocks(Q.shape[1]), blocks(K.shape[1])), mask=mask)
    return {}, {"mask": mask.contiguous()}


def run_19(Q, K, V, scale, outputs, mask):
    numbers, inputs = block_arguments(Q, K, mask)
    B, N_q, H, _ = Q.shape
    room = library.workspace("19_block_sparse", "block_sparse_forward_workspace_bytes", Q.device, B, N_q, K.shape[1], H)
    run_forward("19_block_sparse", Q, K, V, scale, outputs, numbers, inputs, extra={"workspace": room})


def block_workspace(Q, K):
    B, N_q, H, d = Q.shape
    return "block_sparse_backward_workspace_bytes", B, N_q, K.shape[1], H, d


block_sparse_backward = backward_operation("19_block_sparse", "block_sparse_backward", BF16, block_workspace,
                                           ", Tensor mask", block_arguments)
block_sparse_forward = forward_operation("19_block_sparse", "block_sparse_forward", BF16, run_19, ", Tensor mask",
                                         block_sparse_backward)


# ---- 20: the pooled weights R beside O. O's gradient is lesson 16's; R has none

def pooled(Q, K, causal, pool):
    B, N_q, H, _ = Q.shape
    return (Q.new_empty(B, H, -(-N_q // pool), -(-K.shape[1] // pool), dtype=FP32),)


def run_20(Q, K, V, scale, outputs, causal, pool):
    O, LSE, R = outputs
    run_forward("20_pooled_scores", Q, K, V, scale, (O, LSE), {"causal": causal, "pool": pool}, extra={"R": R})


def without_pool(Q, K, V, O, LSE, dO, scale, causal, pool):
    return flash_backward_split(Q, K, V, O, LSE, dO, scale, causal)


pooled_scores = forward_operation("20_pooled_scores", "pooled_scores", BF16, run_20, CAUSAL + ", int pool", without_pool,
                                  pooled)


# ---- 25: with a window, documents or lists; 26 has the gradient of all but lists

def run_25(Q, K, V, scale, outputs, causal, window, cu_seqlens, lists):
    B, N_q, H, _ = Q.shape
    documents = 0 if cu_seqlens is None else cu_seqlens.shape[-1] - 1
    check_packed("hopper_flash", torch.int32, (B, documents + 1), cu_seqlens=cu_seqlens)
    check_packed("hopper_flash", torch.int32, (B, H, blocks(N_q), 1 + blocks(K.shape[1])), lists=lists)
    inputs = {"cu_seqlens": cu_seqlens, "lists": lists}
    run_forward("25_hopper_flash", Q, K, V, scale, outputs, {"causal": causal, "window": window, "documents": documents},
                {name: None if x is None else x.contiguous() for name, x in inputs.items()},
                both={"tickets": torch.zeros(2, dtype=torch.int32, device=Q.device)})


def gradient_25(Q, K, V, O, LSE, dO, scale, causal, window, cu_seqlens, lists):
    if lists is not None:
        raise NotImplementedError("course::hopper_flash: lesson 26 has no gradient with lists; "
                                  "course::block_sparse_forward has one")
    return hopper_backward(Q, K, V, O, LSE, dO, scale, causal, window, cu_seqlens,
                           torch.are_deterministic_algorithms_enabled())


hopper_flash = forward_operation("25_hopper_flash", "hopper_flash", BF16, run_25,
                                 CAUSAL + ", int window, Tensor? cu_seqlens, Tensor? lists", gradient_25)


# ---- one function for a model

def attention(Q, K, V, *, causal=False, scale=None, lesson=14):
    """O of Q, K, V, all (B, N, H, d), by the kernel of lesson 12 (in fp16, without a mask), 13 (fp16), 14, 17 or 25 (bf16).

    Differentiable, by the kernel of lesson 15, 16, 17 or 26.
    """
    scale = Q.shape[-1] ** -0.5 if scale is None else scale
    if lesson == 12:
        if causal:
            raise ValueError("lesson 12 has no causal mask; lesson=13 has")
        B, N, H, d = Q.shape  # heads are batches there
        O, _ = flash_forward(*(x.transpose(1, 2).reshape(B * H, -1, 1, d) for x in (Q, K, V)), scale)
        return O.view(B, H, N, d).transpose(1, 2)
    if lesson == 25:
        return hopper_flash(Q, K, V, scale, causal, 0, None, None)[0]
    return {13: causal_ragged, 14: flash_tensor_core, 17: gqa_forward}[lesson](Q, K, V, scale, causal)[0]
