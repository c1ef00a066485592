"""peers.py: PyTorch's operations and Triton's kernels beside the course's, in one process and in turns.

`make bench` runs it for the lessons that have a grader/LESSON/peers.py, where Python has PyTorch and PyTorch a GPU.
The lesson's own bench, loaded as a library (peers.h), does the work: its sizes, random data, cold cache, timer and
check of every element of every run. The peers are further versions.

A lesson's peers.py has a class Peers. Its names and kinds ("pytorch" or "triton") are one for each peer; a peer's
error may be `looser` times that of a course's kernel. An object is made for each size from the bench and
the size's numbers; call(peer) puts the peer's work into the default stream, deliver(peer, result) its outputs where
the bench looks for them; layouts, one for each peer, tell the record how their memory is laid out. What a call
overwrites is an input again after ready(peer), which is called before each and not timed. A method warm() compiles
without timing. The last three need not be there.

usage: peers.py                                             is there PyTorch with a GPU? 0 or 2
       peers.py LESSON warm                                 compiles what the lesson's peers will need
       peers.py LESSON BENCH.so CSV SECONDS KIND:NAME=LIBRARY.so...     what `bench` does, with peers
"""

import ctypes
import gc
import importlib.util
import os
import signal
import sys
import warnings

warnings.filterwarnings("ignore", "Failed to initialize NumPy")  # it is not needed
warnings.filterwarnings("ignore", category=UserWarning, module="attention_peers")  # why a backend is not offered
try:
    import torch
except ImportError as error:
    print(f"{sys.executable} has no PyTorch ({error}); PYTHON= names another Python.")
    sys.exit(2)

DEVICE = "cuda"


class Bench:
    """The lesson's bench as a library (peers.h), and its arrays at the size of `run`."""

    def __init__(self, path):
        self.functions = functions = ctypes.CDLL(path)  # after torch, whose cuBLAS it shares
        self.run = None
        array = [ctypes.c_void_p, ctypes.c_char_p]
        functions.bench_bytes.restype = ctypes.c_size_t
        functions.bench_bytes.argtypes = functions.bench_put_agreed.argtypes = array
        functions.bench_get.argtypes = functions.bench_put.argtypes = [*array, ctypes.c_void_p, ctypes.c_size_t]

    def bytes(self, name):
        return self.functions.bench_bytes(self.run, name.encode())

    def get(self, name, shape, dtype):
        """A copy of an input."""
        tensor = torch.empty(shape, dtype=dtype, device=DEVICE)
        self.get_again(name, tensor)
        return tensor

    def get_again(self, name, tensor):
        self.functions.bench_get(self.run, name.encode(), tensor.data_ptr(), tensor.nbytes)

    def put(self, name, tensor):
        tensor = tensor.contiguous()
        self.functions.bench_put(self.run, name.encode(), tensor.data_ptr(), tensor.nbytes)

    def put_agreed(self, name):
        """For an output that a peer does not compute: what the first right version wrote."""
        self.functions.bench_put_agreed(self.run, name.encode())


# ---- peers.h in Python

class Size(ctypes.Structure):
    _fields_ = (("label", ctypes.c_char_p), ("n", ctypes.c_int64 * 8))


class Peers(ctypes.Structure):
    _fields_ = (("count", ctypes.c_int), ("names", ctypes.POINTER(ctypes.c_char_p)),
                ("kinds", ctypes.POINTER(ctypes.c_char_p)), ("layouts", ctypes.POINTER(ctypes.c_char_p)),
                ("software", ctypes.c_char_p), ("looser", ctypes.c_double),
                ("prepare", ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.POINTER(Size))),
                ("finish", ctypes.CFUNCTYPE(None)), ("ready", ctypes.CFUNCTYPE(None, ctypes.c_int)),
                ("call", ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_int)), ("deliver", ctypes.CFUNCTYPE(None, ctypes.c_int)))


OK, NOT_OFFERED, NO_MEMORY = 0, 1, 2


def stop(unraisable):
    """Ends the program after an exception in a callback, which C would not notice."""
    sys.__unraisablehook__(unraisable)
    os._exit(2)


def strings(of):
    return (ctypes.c_char_p * len(of))(*(text.encode() for text in of))


class Callbacks:
    """What the bench calls. Outputs that are not delivered stay NaN, and so WRONG."""

    def __init__(self, lesson, bench):
        self.lesson, self.bench = lesson, bench
        self.size = self.result = None
        self.layouts = strings([""] * len(lesson.names))
        functions = (kind(getattr(self, name)) for name, kind in Peers._fields_[6:])
        self.peers = Peers(len(lesson.names), strings(lesson.names), strings(lesson.kinds), self.layouts,
                           software().encode(), lesson.looser, *functions)

    def prepare(self, run, size):
        self.bench.run = run
        try:
            self.size = self.lesson(self.bench, list(size.contents.n))
        except torch.OutOfMemoryError:
            self.size = None
        for i, layout in enumerate(getattr(self.size, "layouts", ())):
            self.layouts[i] = layout.encode()

    def finish(self):
        self.size = self.result = None
        gc.collect()  # the size and its functions hold each other
        torch.cuda.empty_cache()  # the bench allocates on its own

    def ready(self, peer):
        self.result = None  # its memory serves again
        getattr(self.size, "ready", lambda peer: None)(peer)

    def call(self, peer):
        try:
            self.result = self.size.call(peer) if self.size else None
        except torch.OutOfMemoryError:
            self.result = None
            torch.cuda.empty_cache()
            return NO_MEMORY
        except RuntimeError as refused:
            print(f"{self.lesson.names[peer]}: {str(refused).splitlines()[0]}", file=sys.stderr)
            return NOT_OFFERED
        return OK if self.size else NO_MEMORY

    def deliver(self, peer):
        self.size.deliver(peer, self.result)


def software():
    cudnn = torch.backends.cudnn.version() or 0
    return f"{torch.__version__} with cuDNN {cudnn // 10000}.{cudnn // 100 % 100}.{cudnn % 100}"


def peers_of(lesson):
    spec = importlib.util.spec_from_file_location("lesson_peers", f"grader/{lesson}/peers.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.Peers


def main():
    if not torch.cuda.is_available():
        print(f"PyTorch {torch.__version__} of {sys.executable} finds no GPU.")
        return 2
    if len(sys.argv) == 1:
        print(f"PyTorch {software()}")
        return 0
    lesson = peers_of(sys.argv[1])
    if sys.argv[2] == "warm":
        getattr(lesson, "warm", lambda: None)()
        return 0
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # the loop is in C
    sys.unraisablehook = stop
    callbacks = Callbacks(lesson, Bench(sys.argv[2]))
    words = strings(["bench", *sys.argv[3:]])
    print(f"PyTorch {software()}", flush=True)
    return callbacks.bench.functions.bench_main(len(words), words, ctypes.byref(callbacks.peers))


if __name__ == "__main__":
    sys.exit(main())
