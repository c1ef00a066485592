"""check.py: what `make torch` and `make test-torch` have PyTorch check of the operations of some lessons.

usage: check.py LESSON...      with COURSE_KERNELS, SEED, DEVICE (cpu, cuda) in the environment
A line for each check; exit status 1 if one fails.
"""

import logging
import os
import random
import sys
import warnings

warnings.filterwarnings("ignore", "Failed to initialize NumPy")  # it is not needed

import torch  # noqa: E402

import course_kernels as course  # noqa: E402
from cases import BF16, cases  # noqa: E402
from reference import compare, exact_and_standard, pooled  # noqa: E402

ops = torch.ops.course
device = torch.device(os.environ.get("DEVICE") or ("cuda" if torch.cuda.is_available() else "cpu"))
made = failed = 0


def tell(name, wrong):
    global made, failed
    made += 1
    failed += bool(wrong)
    print(f"{'FAIL ' if wrong else 'ok   '} {name}{': ' + str(wrong) if wrong else ''}", flush=True)


def attempt(name, function):
    """A check returns nothing, or what is wrong. An exception is wrong as well, and its first lines say how."""
    try:
        tell(name, function())
    except Exception as error:  # whatever it is: the check has failed, the others are still to be made
        tell(name, f"{type(error).__name__}: " + "\n        ".join(str(error).splitlines()[:12]))


def refused(kind, words, function):
    """Nothing if the function raises this exception with these words in it."""
    try:
        function()
    except kind as error:
        return None if words in str(error) else f"it says {error}"
    return "it was not refused"


# ---- the numbers

def leaves(*tensors):
    return [x.detach().requires_grad_() for x in tensors]


def numbers(case):
    """Outputs and gradients beside fp64. dO is a slice of a wider array whose heads come first: not contiguous."""
    B, N_q, H, d = case.Q.shape
    wide = torch.randn(B, H, N_q, d + 8, device=device).to(case.Q.dtype)
    dO = wide[..., 8:].transpose(1, 2)
    exact, standard = exact_and_standard(case.Q, case.K, case.V, dO, case.scale, case.seen, case.softcap)
    Q, K, V = leaves(case.Q, case.K, case.V) if case.backward else (case.Q, case.K, case.V)
    O, LSE, *more = case.forward(Q, K, V, case.scale, *case.options)
    wrong = compare("O", O, exact.O, standard.O) or compare("LSE", LSE, exact.LSE, standard.LSE)
    if case.pool and not wrong:
        wrong = compare("R", more[0], pooled(exact.P, case.pool), pooled(standard.P, case.pool))
    if wrong or not case.backward:
        return wrong
    O.backward(dO)
    for name, got in (("dQ", Q.grad), ("dK", K.grad), ("dV", V.grad)):
        wrong = wrong or compare(name, got, getattr(exact, name), getattr(standard, name))
    return wrong


def expanded_dO(case):
    """The gradient of a sum: one number, with strides of 0 in all four axes."""
    Q, K, V = leaves(case.Q, case.K, case.V)
    case.forward(Q, K, V, case.scale, *case.options)[0].sum().backward()
    again = leaves(case.Q, case.K, case.V)
    O = case.forward(*again, case.scale, *case.options)[0]
    O.backward(torch.ones_like(O).contiguous())
    same = all(torch.allclose(x.grad, y.grad, rtol=2 ** -6, atol=2 ** -8) for x, y in zip((Q, K, V), again))
    return None if same else "the gradient of O.sum() is not that of dO = 1"


# ---- the operation

def opcheck(case):
    """PyTorch's own: the schema is true, the fake is like the real one, autograd is registered, AOT gives the same."""
    if hasattr(case, "arguments"):
        torch.library.opcheck(ops.flash_decode.default, case.arguments)
        return
    torch.library.opcheck(case.forward.default, (*leaves(case.Q, case.K, case.V), case.scale, *case.options)
                          if case.backward else (case.Q, case.K, case.V, case.scale, *case.options))
    if case.backward:
        O, LSE, *_ = case.forward(case.Q, case.K, case.V, case.scale, *case.options)
        torch.library.opcheck(case.backward.default, (case.Q, case.K, case.V, O, LSE, torch.randn_like(O), case.scale,
                                                      *case.backward_options))


def compiled(case, backend):
    """torch.compile without a break in the graph: the same bits, and each pass one call: so delta is computed once."""
    def loss(Q, K, V):
        return case.forward(Q * 1, K, V, case.scale, *case.options)[0].float().square().sum()

    torch._dynamo.reset()
    one, other = leaves(case.Q, case.K, case.V), leaves(case.Q, case.K, case.V)
    loss(*one).backward()
    fast = torch.compile(loss, fullgraph=True, backend=backend)
    fast(*other).backward()  # compiles
    for x in other:
        x.grad = None
    before = course.calls[case.gradient_of]
    fast(*other).backward()
    # A lesson with both passes was called for both.
    wanted = 2 if case.gradient_of in ("17_gqa", "18_online_masks", "19_block_sparse") else 1
    if course.calls[case.gradient_of] - before != wanted:
        return f"{course.calls[case.gradient_of] - before} calls of lesson {case.gradient_of}, not {wanted}"
    # Lesson 15 adds dQ up by atomics, in any order; all others are repeatable.
    near = torch.allclose if case.gradient_of == "15_flash_backward" else lambda x, y, **_: torch.equal(x, y)
    same = all(near(x.grad, y.grad, rtol=2 ** -9, atol=2 ** -9) for x, y in zip(one, other))
    return None if same else "other gradients than without torch.compile"


def twice(case):
    Q, K, V = leaves(case.Q, case.K, case.V)
    O = case.forward(Q, K, V, case.scale, *case.options)[0]
    dQ, = torch.autograd.grad(O.float().square().sum(), Q, create_graph=True)
    return refused(NotImplementedError, "the gradient of a gradient", lambda: dQ.float().sum().backward())


def other_types(case):
    call, rest = case.forward, (case.scale, *case.options)
    wrong = refused(TypeError, "is torch.float32", lambda: call(case.Q.float(), case.K, case.V, *rest))
    fast = torch.compile(lambda Q: call(Q, case.K, case.V, *rest)[0], fullgraph=True, backend="aot_eager")
    logging.disable(logging.ERROR)  # torch.compile would log the refusal that is wanted
    try:
        return wrong or refused(Exception, "is torch.float32", lambda: fast(case.Q.float()))
    finally:
        logging.disable(logging.NOTSET)


def no_gradient(case):
    """Of O alone; a loss of LSE alone is refused by PyTorch, since LSE says that it has none."""
    LSE = case.forward(*leaves(case.Q, case.K, case.V), case.scale, *case.options)[1]
    return "LSE has a gradient" if LSE.requires_grad else None


def overwritten(case):
    """What is saved may not be changed before the backward pass: autograd counts the writes to a tensor."""
    Q, K, V = leaves(case.Q, case.K, case.V)
    O = case.forward(Q, K, V, case.scale, *case.options)[0]
    with torch.no_grad():
        O.mul_(2)
    return refused(RuntimeError, "modified by an inplace operation", lambda: O.float().sum().backward())


# ---- on a GPU

def side_stream(case):
    """In a stream of PyTorch's, behind work that takes a tenth of a second and then fills Q: the default stream would
    read what was there before."""
    want = case.forward(case.Q, case.K, case.V, case.scale, *case.options)[0]
    Q = torch.full_like(case.Q, torch.nan)
    torch.cuda.synchronize()
    with torch.cuda.stream(torch.cuda.Stream()):
        torch.cuda._sleep(200_000_000)
        Q.copy_(case.Q)
        O = case.forward(Q, case.K, case.V, case.scale, *case.options)[0]
    torch.cuda.synchronize()
    return None if torch.equal(O, want) else "O is another one than in the default stream"


def captured(case):
    """A captured graph, replayed with other numbers in the same memory: a launch into the default stream would not be
    in the graph, or end the capture."""
    Q, graph = case.Q.clone(), torch.cuda.CUDAGraph()
    case.forward(Q, case.K, case.V, case.scale, *case.options)  # what is asked of CUDA once
    with torch.cuda.graph(graph):
        O = case.forward(Q, case.K, case.V, case.scale, *case.options)[0]
    Q.copy_(torch.randn_like(Q))
    graph.replay()
    torch.cuda.synchronize()
    want = case.forward(Q, case.K, case.V, case.scale, *case.options)[0]
    return None if torch.equal(O, want) else "O is another one than without the graph"


# ---- gradcheck, where 16 bits are precise enough

def gradcheck_attention():
    """Lessons 13 and 15 in fp16: differences of step h = 1/16, of inputs that are multiples of h, so that they are exact.

    What limits it is the rounding of O to 11 bits, so O is kept small while its gradients are not: values that cancel, v,
    -v and 0, under weights that are nearly equal. |q| <= 1/8, |k| <= 1/2, d = 4 and scale = 1/2 make scores of 1/8 at most,
    and with 1/4 <= |k|, 3/2 <= |v| <= 7/4 the gradient of O by q is 0.18 and more. |O| < 1/2 all the time: it is off by 2^-13
    at most, and the quotient (O(x + h) - O(x - h)) / 2h by 2 * 2^-13 / 2h = 2^-9. The curve adds h^2 / 6 |O'''|. With
    s' = scale k <= 1/4, O''' is the joint cumulant under P of V, at most 3.5 from its mean, and of three times s', at most
    1/2 from its mean: E[abcd] less three products of covariances, so below 4 * 3.5 / 8, and the curve adds less than
    2^-9.7. Gradients themselves are rounded to 2^-12. 2^-8 has room for all of it.
    """
    h = 2 ** -4

    def draw(low, high, *shape):
        """Multiples of h from low to high, with any sign."""
        sign = torch.randint(0, 2, shape, device=device) * 2 - 1
        return torch.randint(round(low / h), round(high / h) + 1, shape, device=device).double() * sign * h

    k, v = draw(1 / 4, 1 / 2, 1, 1, 1, 4), draw(3 / 2, 7 / 4, 1, 1, 1, 4)
    Q = draw(0, 1 / 8, 1, 2, 1, 4).requires_grad_()
    K = torch.cat((k, -k, draw(1 / 4, 1 / 2, 1, 1, 1, 4)), 1).requires_grad_()
    V = torch.cat((v, -v, torch.zeros_like(v)), 1).requires_grad_()

    def function(Q, K, V):
        return ops.causal_ragged(Q.half(), K.half(), V.half(), 0.5, True)[0].double()

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.autograd.gradcheck(function, (Q, K, V), eps=h, atol=2 ** -8, rtol=0, nondet_tol=2 ** -10)


def gradcheck_product(transpose_A, transpose_B):
    """Small whole numbers: products, sums and differences are exact in bf16, and a product is linear in each of its
    matrices. So is its derivative: the second one is checked, too. No tolerance."""
    A, B = (torch.randint(-2, 3, shape, device=device).double().requires_grad_()
            for shape in ((2, 3)[::-1 if transpose_A else 1], (3, 2)[::-1 if transpose_B else 1]))

    def function(A, B):
        return ops.hopper_matmul(A.to(BF16), B.to(BF16), transpose_A, transpose_B).double()

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.autograd.gradcheck(function, (A, B), eps=1, atol=0, rtol=0)
        C = torch.randint(-2, 3, (2, 2), device=device).double().requires_grad_()
        torch.autograd.gradgradcheck(function, (A, B), C, eps=1, atol=0, rtol=0)


def product(M, N, K, transpose_A, transpose_B):
    """Beside fp64, of slices of wider arrays. The sum of K products in fp32 is off by K 2^-24 sum |a b|, rounded once."""
    A = torch.randn((K, M) if transpose_A else (M, K + 5), device=device).to(BF16)
    B = torch.randn((N + 3, K) if transpose_B else (K, N), device=device).to(BF16)
    A, B = A if transpose_A else A[:, 5:], B[:N] if transpose_B else B
    left, right = (x.double().t() if t else x.double() for x, t in ((A, transpose_A), (B, transpose_B)))
    exact, C = left @ right, ops.hopper_matmul(A, B, transpose_A, transpose_B)
    slack = exact.abs() * 2 ** -8 + K * 2 ** -24 * (left.abs() @ right.abs())
    if C.shape != exact.shape or not bool(((C.double() - exact).abs() <= slack).all()):
        return "C is not A B"
    torch.library.opcheck(ops.hopper_matmul.default, (*leaves(A, B), transpose_A, transpose_B))


# ---- all of it

def check_attention(lesson):
    found = list(cases(lesson, device))
    before = failed
    for case in found:
        attempt(f"{lesson} beside fp64: {case.name}", lambda: numbers(case))
    if failed > before:
        print(f"      The other checks of {lesson} are for right numbers. make grade LESSON={lesson[:2]} says more.")
        return
    first = found[0]
    attempt(f"{lesson} opcheck", lambda: opcheck(first))
    if device.type == "cuda":
        attempt(f"{lesson} in a stream of its own", lambda: side_stream(first))
        attempt(f"{lesson} in a captured graph", lambda: captured(first))
    if not first.backward:
        return
    attempt(f"{lesson} other types are refused, also by torch.compile", lambda: other_types(first))
    attempt(f"{lesson} the gradient of a sum", lambda: expanded_dO(first))
    attempt(f"{lesson} torch.compile: the same, delta once", lambda: compiled(first, "aot_eager"))
    attempt(f"{lesson} LSE has no gradient, and says so", lambda: no_gradient(first))
    attempt(f"{lesson} an output changed in place is noticed", lambda: overwritten(first))
    attempt(f"{lesson} a second derivative is refused", lambda: twice(first))
    if lesson[:2] in ("13", "15"):
        attempt(f"{lesson} gradcheck", gradcheck_attention)
    without = [case for case in found if not case.backward]
    if without:
        case = without[0]
        O = case.forward(*leaves(case.Q, case.K, case.V), case.scale, *case.options)[0]
        attempt(f"{lesson} a mask without a gradient is refused", lambda: refused(
            NotImplementedError, "block_sparse_forward", lambda: O.sum().backward()))


def check_lesson(lesson):
    if lesson[:2] in ("24", "25", "26") and device.type == "cuda" and torch.cuda.get_device_capability() != (9, 0):
        print(f"skip  {lesson}: this is no Hopper GPU")
    elif lesson[:2] == "24":
        for transpose_A in (False, True):
            for transpose_B in (False, True):
                name = f"{lesson} {'A^T' if transpose_A else 'A'} {'B^T' if transpose_B else 'B'}"
                attempt(f"{name} beside fp64, opcheck", lambda: product(70, 40, 90, transpose_A, transpose_B))
                attempt(f"{name} gradcheck, twice", lambda: gradcheck_product(transpose_A, transpose_B))
    else:
        check_attention(lesson)


def main():
    if device.type == "cuda" and not torch.cuda.is_available():
        print(f"PyTorch {torch.__version__} of {sys.executable} finds no GPU; DEVICE=cpu checks on the CPU device.")
        return 2
    seed = int(os.environ.get("SEED") or random.SystemRandom().randrange(10 ** 6))
    print(f"PyTorch {torch.__version__} on {device}, SEED={seed}")
    torch.set_num_threads(1)  # small arrays: threads would only wait for each other
    torch.use_deterministic_algorithms(True, warn_only=True)  # so torch.empty() is full of NaN: what is not written shows
    warnings.filterwarnings("ignore", category=UserWarning)
    for lesson in map(course.name_of, sys.argv[1:]):
        torch.manual_seed(seed)
        check_lesson(lesson)
    print(f"{made} checks, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
