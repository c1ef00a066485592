"""compare.py: PyTorch's operations beside the course's kernels, in one process and in turns.

    make compare LESSON=14                      on a machine with a GPU, nvcc and PyTorch
    make compare LESSON=14 PYTHON=venv/bin/python SECONDS_PER_SIZE=1 BENCH_ONLY='N = 4096'

The lesson's own bench, loaded as a library (peers.h), does the work: its sizes, random data, cold cache,
timer and check of every element of every run. PyTorch's operations, described here, are further versions.

Attention: scaled_dot_product_attention with its backend pinned. In memory, heads lie inside the rows, as
the course's do, or outside; each backend gets what is faster for it, and the record says which (the naive
one gets the course's). Nothing asks for gradients in the forward lessons, so that a backend may leave LSE
away. Of the backward pass only torch.autograd.grad() is timed, on a graph that is kept: the forward pass
is not in it, while all that the backward pass needs (delta, conversions, memory from PyTorch's cache) is.
Peers round P and dS to 16 bits. Where the contract does not allow that (fp16: lessons 12, 13, 15) they may
be wrong by ROUNDS_P times what the course's kernels may.

usage: compare.py LESSON                                           can it be compared here? 0; 2 no; 3 never
       compare.py LESSON BENCH.so CSV SECONDS NAME=LIBRARY.so...   what `bench` does, with PyTorch
"""

import csv
import ctypes
import gc
import math
import os
import signal
import sys
import warnings

warnings.filterwarnings("ignore", "Failed to initialize NumPy")  # it is not needed
try:
    import torch
    from torch.nn.attention import SDPBackend, sdpa_kernel
except ImportError as error:
    print(f"make compare needs PyTorch, and {sys.executable} cannot import it: {error}.\n"
          "Name another Python by PYTHON=, or use make bench, which needs none.", file=sys.stderr)
    sys.exit(2)

DEVICE = "cuda"
ROUNDS_P = 4.0


class Bench:
    """The lesson's bench as a library (peers.h), and its arrays at the size of `run`."""

    def __init__(self, path):
        self.library = library = ctypes.CDLL(path)  # after torch, whose cuBLAS it shares
        self.run = None
        array = [ctypes.c_void_p, ctypes.c_char_p]
        library.bench_bytes.restype = ctypes.c_size_t
        library.bench_bytes.argtypes = library.bench_put_agreed.argtypes = array
        library.bench_get.argtypes = library.bench_put.argtypes = [*array, ctypes.c_void_p, ctypes.c_size_t]

    def get(self, name, shape, dtype):
        tensor = torch.empty(shape, dtype=dtype, device=DEVICE)
        self.library.bench_get(self.run, name.encode(), tensor.data_ptr(), tensor.nbytes)
        return tensor

    def put(self, name, tensor):
        tensor = tensor.contiguous()
        self.library.bench_put(self.run, name.encode(), tensor.data_ptr(), tensor.nbytes)

    def put_agreed(self, name):
        self.library.bench_put_agreed(self.run, name.encode())


# ---- the lessons: names of the peers, how much looser they are checked, and for one size their layouts
# in memory, one call, and where its result belongs

class Transpose:
    names, looser, layouts = ("torch t().contiguous()",), 1.0, ("",)

    def __init__(self, bench, n):
        self.bench = bench
        self.matrix = bench.get("in", n[:2], torch.float32)

    def call(self, peer):
        return self.matrix.t().contiguous()

    def deliver(self, peer, result):
        self.bench.put("out", result)


class Reduction:
    # No operation computes both: the second peer reads x twice.
    names, looser, layouts = ("torch sum() alone", "torch sum() and amax()"), 1.0, ("", "")

    def __init__(self, bench, n):
        self.bench = bench
        self.x = bench.get("x", n[:2], torch.float32)

    def call(self, peer):
        return self.x.sum(1), self.x.amax(1) if peer == 1 else None

    def deliver(self, peer, result):
        self.bench.put("sum", result[0])
        if peer == 1:
            self.bench.put("max", result[1])
        else:
            self.bench.put_agreed("max")


heads_outside = torch.Tensor.contiguous


def rows_outside(tensor):  # (B, H, N, d) that is (B, N, H, d) in memory
    return tensor.transpose(1, 2).contiguous().transpose(1, 2)


class Forward:
    names, looser = ("FlashAttention-2", "SDPA cuDNN", "SDPA efficient", "SDPA math"), 1.0
    backends = (SDPBackend.FLASH_ATTENTION, SDPBackend.CUDNN_ATTENTION, SDPBackend.EFFICIENT_ATTENTION,
                SDPBackend.MATH)
    dtype = torch.bfloat16
    batched = True  # the lesson's sizes begin with B; else B = 1
    layout, other = (rows_outside, "B N H d"), (heads_outside, "B H N d")

    def __init__(self, bench, n):
        self.bench = bench
        self.B, self.N, self.d, self.causal = n[0] if self.batched else 1, n[1], n[2], bool(n[3])
        self.H = bench.library.bench_bytes(bench.run, b"Q") // (2 * self.B * self.N * self.d)
        self.Q, self.K, self.V = (self.input(name) for name in "QKV")
        self.prepare()
        self.calls, self.layouts = zip(*(self.fastest(backend) for backend in self.backends))

    def prepare(self):
        """Backward needs more."""

    def input(self, name):  # as (B, H, N, d)
        if self.layout[0] is heads_outside:
            return self.bench.get(name, (self.B, self.H, self.N, self.d), self.dtype)
        return self.bench.get(name, (self.B, self.N, self.H, self.d), self.dtype).transpose(1, 2)

    def put(self, name, tensor):
        self.bench.put(name, tensor if self.layout[0] is heads_outside else tensor.transpose(1, 2))

    def attention(self, backend, Q, K, V):
        with sdpa_kernel(backend):
            return torch.nn.functional.scaled_dot_product_attention(Q, K, V, is_causal=self.causal)

    def timed(self, backend, layout):
        """A function that does what is timed, its tensors made before."""
        Q, K, V = layout(self.Q), layout(self.K), layout(self.V)
        return lambda: self.attention(backend, Q, K, V)

    def fastest(self, backend):
        """That function for the faster layout, and the layout's name."""
        best = None
        for layout, name in (self.layout, self.other):
            try:
                call = self.timed(backend, layout)
                if backend == SDPBackend.MATH:
                    return call, name
                ms = median_ms(call)
                if best is None or ms < best[0]:
                    best = ms, call, name
            except RuntimeError:  # refused or no memory: the bench is told when it calls
                torch.cuda.empty_cache()
        return best[1:] if best else (lambda: self.timed(backend, self.layout[0])(), "")

    def call(self, peer):
        return self.calls[peer]()

    def deliver(self, peer, O):
        self.put("O", O)
        self.bench.put_agreed("LSE")  # PyTorch does not return it


class Backward(Forward):
    def prepare(self):
        """Puts the forward pass's O and LSE, computed in fp32, where the bench had random numbers."""
        O, LSE = torch.empty_like(self.Q), torch.empty(self.B, self.H, self.N, device=DEVICE)
        later = torch.ones(self.N, self.N, dtype=torch.bool, device=DEVICE).triu(1)
        for b in range(self.B):
            for h in range(self.H):
                S = self.Q[b, h].float() @ self.K[b, h].float().t() / math.sqrt(self.d)
                if self.causal:
                    S.masked_fill_(later, -math.inf)
                LSE[b, h] = S.logsumexp(1)
                O[b, h] = S.sub_(LSE[b, h, :, None]).exp_() @ self.V[b, h].float()
        self.put("O", O)
        self.bench.put("LSE", LSE)
        self.dO = self.input("dO")

    def timed(self, backend, layout):
        inputs = [layout(x).detach().requires_grad_() for x in (self.Q, self.K, self.V)]
        O, dO = self.attention(backend, *inputs), layout(self.dO)
        return lambda: torch.autograd.grad(O, inputs, dO, retain_graph=True)

    def deliver(self, peer, gradients):
        for name, gradient in zip(("dQ", "dK", "dV"), gradients):
            self.put(name, gradient)


# By number. A lesson's first peer is the one that all are divided by.
FP16 = {"dtype": torch.float16, "looser": ROUNDS_P, "batched": False}
LESSONS = {"02": Transpose, "03": Reduction, "14": Forward, "16": Backward,
           "12": type("Forward12", (Forward,), {**FP16, "layout": Forward.other, "other": Forward.layout}),
           "13": type("Forward13", (Forward,), FP16), "15": type("Backward15", (Backward,), FP16)}


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


# ---- peers.h in Python

class Size(ctypes.Structure):
    _fields_ = (("label", ctypes.c_char_p), ("n", ctypes.c_int64 * 8))


class Peers(ctypes.Structure):
    _fields_ = (("count", ctypes.c_int), ("names", ctypes.POINTER(ctypes.c_char_p)),
                ("looser", ctypes.c_double),
                ("prepare", ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.POINTER(Size))),
                ("finish", ctypes.CFUNCTYPE(None)), ("call", ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_int)),
                ("deliver", ctypes.CFUNCTYPE(None, ctypes.c_int)))


OK, NOT_OFFERED, NO_MEMORY = 0, 1, 2


def stop(unraisable):
    """Ends the program after an exception in a callback, which C would not notice."""
    sys.__unraisablehook__(unraisable)
    os._exit(2)


class Callbacks:
    """What the bench calls. Outputs that are not delivered stay NaN, and so WRONG."""

    def __init__(self, lesson, bench):
        self.lesson, self.bench, self.layouts = lesson, bench, {}
        self.size = self.result = None
        names = (ctypes.c_char_p * len(lesson.names))(*(name.encode() for name in lesson.names))
        functions = (kind(getattr(self, name)) for name, kind in Peers._fields_[3:])
        self.peers = Peers(len(names), names, lesson.looser, *functions)

    def prepare(self, run, size):
        self.bench.run = run
        self.size = self.lesson(self.bench, list(size.contents.n))
        for name, layout in zip(self.lesson.names, self.size.layouts):
            self.layouts[size.contents.label.decode(), name] = layout

    def finish(self):
        self.size = self.result = None
        gc.collect()  # the size and its functions hold each other
        torch.cuda.empty_cache()  # the bench allocates on its own

    def call(self, peer):
        self.result = None  # its memory serves again
        try:
            self.result = self.size.call(peer)
        except torch.OutOfMemoryError:
            torch.cuda.empty_cache()
            return NO_MEMORY
        except RuntimeError as refused:
            print(f"{self.lesson.names[peer]}: {str(refused).splitlines()[0]}", file=sys.stderr)
            return NOT_OFFERED
        return OK

    def deliver(self, peer):
        self.size.deliver(peer, self.result)


def torch_version():
    cudnn = torch.backends.cudnn.version()
    return f"{torch.__version__} with cuDNN {cudnn // 10000}.{cudnn // 100 % 100}.{cudnn % 100}"


def complete(path, against, layouts):
    """Adds to the bench's record: PyTorch's version, the layouts, and how fast beside the first peer."""
    with open(path, newline="") as file:
        rows = list(csv.DictReader(file))
    ms = {row["size"]: float(row["median_ms"] or "nan") for row in rows if row["version"] == against}
    for row in rows:
        ratio = ms[row["size"]] / float(row["median_ms"] or "nan")
        row.update(torch=torch_version(), layout=layouts.get((row["size"], row["version"]), ""),
                   against=against, ratio=f"{ratio:.3f}")
    with open(path, "w", newline="") as file:
        writer = csv.DictWriter(file, rows[0].keys() if rows else (), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


def main():
    number = sys.argv[1][:2]
    if number not in LESSONS:
        print(f"Lesson {sys.argv[1]} is not compared with PyTorch; make bench LESSON={number} times it.")
        return 3
    if not torch.cuda.is_available():
        print(f"PyTorch {torch.__version__} finds no GPU here. Is it a build for CUDA, and does "
              "nvidia-smi work?", file=sys.stderr)
        return 2
    if len(sys.argv) == 2:
        return 0
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # the loop is in C
    sys.unraisablehook = stop
    lesson, bench = LESSONS[number], Bench(sys.argv[2])
    callbacks = Callbacks(lesson, bench)
    words = tuple(word.encode() for word in ("bench", *sys.argv[3:]))
    argv = (ctypes.c_char_p * len(words))(*words)
    print(f"PyTorch {torch_version()}; data: normal, mean 0, variance 1, from the bench's fixed seeds",
          flush=True)
    status = bench.library.bench_main(len(words), argv, ctypes.byref(callbacks.peers))
    if status != 2 and sys.argv[3] != "-":
        complete(sys.argv[3], lesson.names[0], callbacks.layouts)
    return status


if __name__ == "__main__":
    sys.exit(main())
