"""library.py: a lesson's kernel, as the library that `make torch` built of it, called through ctypes.

Nothing here is PyTorch's C++: a tensor is an address, a number of bytes and strides, and the launcher is C.
"""

import collections
import ctypes
import hashlib
import os
import pathlib

import torch

from .table import name_of

ROOT = pathlib.Path(__file__).resolve().parents[2]

# ---- which kernel

# Of each lesson, whose kernel it is: "exercises", "solutions", or "file" for that of the last make
# torch FILE=. make torch and the tests say it in COURSE_KERNELS, a list of LESSON=SOURCE.
sources = dict(word.split("=", 1) for word in os.environ.get("COURSE_KERNELS", "").split())

# How often each lesson's launchers were called. A backward pass is one call, in which delta is
# computed once.
calls = collections.Counter()


def use(lesson, source):
    """From now on the lesson's operations call the kernel of exercises, solutions or file."""
    if source not in ("exercises", "solutions", "file"):
        raise ValueError(f'{source}: "exercises", "solutions" or "file"')
    sources[name_of(lesson)] = source


# ---- library.h in Python

INPUT, OUTPUT, BOTH, INT, REAL, STRIDES = range(6)
OK, BAD_ARGUMENT, UNSUPPORTED, CUDA_ERROR, ENDED, MISSING = 0, 1, 2, 3, -1, -2


class Argument(ctypes.Structure):
    _fields_ = (("name", ctypes.c_char_p), ("kind", ctypes.c_int64), ("pointer", ctypes.c_void_p),
                ("bytes", ctypes.c_int64), ("number", ctypes.c_int64 * 3), ("real", ctypes.c_double))


def array(name, kind, x):
    """A tensor as its address. bytes: from its first element to the end of its last one, whatever lies between."""
    argument = Argument(name.encode(), kind)
    if x is not None and x.numel():
        last = sum((size - 1) * stride for size, stride in zip(x.shape, x.stride()))
        argument.pointer, argument.bytes = x.data_ptr(), (last + 1) * x.element_size()
    return argument


def number(name, value):
    if isinstance(value, float):
        return Argument(name.encode(), REAL, real=value)
    return Argument(name.encode(), INT, number=(int(value), 0, 0))


def strides(x):
    """The strides of a (B, N, H, d) tensor. An axis of length 1 may have any, and gets a packed array's."""
    packed = [x[0].numel() if len(x) else 0, *(n * x.shape[-1] for n in (x.shape[2], 1))]
    return [mine if size > 1 and x.numel() else theirs
            for size, mine, theirs in zip(x.shape, x.stride(), packed)]


# ---- calling

_loaded = {}  # by path: when library and kernel were written, and the library


def load(lesson, device_type):
    """The library of the lesson's kernel for tensors of this device. Refuses one whose kernel was edited since."""
    source = sources.get(lesson, "exercises")
    folder = ROOT / "build" / "torch" / lesson / source
    path = folder / ("gpu.so" if device_type == "cuda" else "cpu.so")
    again = f"make torch LESSON={lesson[:2]} " + ("FILE=..." if source == "file" else f"FROM={source}")
    if not path.exists() or not (folder / "source").exists():
        raise FileNotFoundError(f"{path} is not built: {again}")
    file, hashed = (folder / "source").read_text().rsplit(maxsplit=1)
    written = os.stat(folder / "source").st_mtime_ns, os.stat(ROOT / file).st_mtime_ns
    if path in _loaded and _loaded[path][0] == written:
        return _loaded[path][1]
    if hashlib.sha256((ROOT / file).read_bytes()).hexdigest() != hashed:
        raise RuntimeError(f"{file} was edited since {path} was built: {again}")
    library = ctypes.CDLL(str(path))
    library.library_call.argtypes = (ctypes.POINTER(Argument), ctypes.c_int, ctypes.c_void_p, ctypes.c_char_p,
                                     ctypes.c_size_t)
    _loaded[path] = written, library
    return library


def workspace(lesson, function, device, *sizes):
    """Memory for a launcher, as many bytes as its contract's function says."""
    bytes_of = getattr(load(lesson, device.type), function)
    bytes_of.restype, bytes_of.argtypes = ctypes.c_size_t, [ctypes.c_int] * len(sizes)
    return torch.empty(bytes_of(*sizes), dtype=torch.uint8, device=device)


def call(lesson, device, *, rows=None, rows_out=None, inputs=None, outputs=None, both=None, numbers=None):
    """Calls the lesson's launcher. The names are those that grader/LESSON/call.c asks for.

    rows, rows_out: (B, N, H, d) tensors, whose strides go along; inputs, outputs, both: packed tensors that are read,
    written, or both. The tensors stay the caller's, who must hold them until the call returns, no longer: on a GPU the
    kernel may still be running then, but whatever takes their memory comes behind it in the same stream.
    """
    library = load(lesson, device.type)
    arguments = []
    for kind, tensors in ((INPUT, rows), (OUTPUT, rows_out), (INPUT, inputs), (OUTPUT, outputs), (BOTH, both)):
        for name, x in (tensors or {}).items():
            if x is not None and x.device != device:
                raise ValueError(f"{lesson}: {name} is on {x.device}, others on {device}")
            arguments.append(array(name, kind, x))
    for name, x in {**(rows or {}), **(rows_out or {})}.items():
        arguments.append(Argument(name.lower().encode(), STRIDES, number=tuple(strides(x))))
    arguments += [number(name, value) for name, value in (numbers or {}).items()]
    said = ctypes.create_string_buffer(8192)
    calls[lesson] += 1
    packed = (Argument * len(arguments))(*arguments)
    if device.type == "cuda":
        # The tensors' GPU need not be the current one, nor the current stream the default one.
        with torch.cuda.device(device):
            stream = torch.cuda.current_stream().cuda_stream
            status = library.library_call(packed, len(arguments), stream, said, len(said))
    else:
        status = library.library_call(packed, len(arguments), None, said, len(said))
    if status != OK:
        fail(lesson, status, said.value.decode(errors="replace"))


def fail(lesson, status, said):
    contract = f"lessons/{lesson}/{lesson[3:]}.h"
    if status == BAD_ARGUMENT:
        raise ValueError(f"{lesson}: the launcher returned COURSE_BAD_ARGUMENT; {contract} says of what")
    if status == UNSUPPORTED:
        raise NotImplementedError(f"{lesson}: the launcher returned COURSE_UNSUPPORTED: sizes, a scale or a GPU that "
                                  f"{contract} does not ask for")
    if status == CUDA_ERROR:
        raise RuntimeError(f"{lesson}: the launcher returned COURSE_CUDA_ERROR. {said}")
    if status == ENDED:
        raise RuntimeError(f"{lesson}: the kernel ended its program on the CPU device:\n{said}")
    raise RuntimeError(f"{lesson}: library_call() returned {status}. {said}")
