"""peers.py: attention by others, of the same numbers. In eight bits: FlashAttention-3 where FA3=path names the folder that its
installed Python module flash_attn_interface lies in, and cuDNN where its Python module cudnn (nvidia-cudnn-frontend) is installed;
with one scale for each array. In bf16, of the numbers times their scales: PyTorch's cuDNN, and lesson 25's solution where `make bench
LESSON=25` has built it. Who is not there has no row. The step to eight bits has no peers."""

import ctypes
import os

import torch
from attention_peers import BACKENDS, flash_attention_3, rows_outside, sdpa

try:
    import cudnn
except ImportError:
    cudnn = None

LESSON_25 = "build/bench/25_hopper_flash/solution.so"
BLOCK = 128
# Of 16 keys, number 2 t + r + 8 u has byte 4 t + r + 2 u of V^T.
BYTE_OF_KEY = [j % 8 // 2 * 4 + j % 2 + j // 8 * 2 for j in range(16)]


class Strides(ctypes.Structure):
    _fields_ = [("b", ctypes.c_int64), ("n", ctypes.c_int64), ("h", ctypes.c_int64)]


class Peers:
    fa3 = flash_attention_3()
    names = ("SDPA cuDNN",)
    names += ("lesson 25",) if os.path.exists(LESSON_25) else ()
    names += ("FlashAttention-3 e4m3",) if fa3 else ()
    names += ("cuDNN e4m3",) if cudnn else ()
    kinds = ("pytorch",) * len(names)
    looser = 2.0  # for all of them, for cuDNN's sake: its O has eight bits on Hopper, 2^-4 of itself may be missing
    of_O = 64  # its scale; the largest V is 448 / 64

    def __init__(self, bench, n):
        self.bench = bench
        self.B, self.N, self.d, self.causal, self.H, self.per_block = *n[:3], bool(n[3]), n[4], bool(n[5])
        self.steps = bool(n[7])
        self.layouts = ("",) * len(self.names)
        if self.steps:
            return
        shape, padded = (self.B, self.H, self.N, self.d), (self.N + 15) // 16 * 16
        self.bytes = [bench.get(name, shape, torch.uint8) for name in ("Q", "K")]
        key = torch.arange(self.N, device="cuda")
        place = key // 16 * 16 + torch.tensor(BYTE_OF_KEY, device="cuda")[key % 16]
        Vt = bench.get("Vt", (self.B, self.H, self.d, padded), torch.uint8)
        self.bytes.append(Vt[..., place].transpose(2, 3).contiguous())
        self.numbers = [x.view(torch.float8_e4m3fn) for x in self.bytes]
        self.scales = [self.scale(name) for name in ("Q_scales", "K_scales", "V_scales")]
        self.calls = {}

    def scale(self, name):
        """(B, H, N, 1), or one number."""
        if not self.per_block:
            return self.bench.get(name, (1,), torch.float32)
        blocks = self.bench.get(name, (self.B, self.H, (self.N + BLOCK - 1) // BLOCK), torch.float32)
        return blocks.repeat_interleave(BLOCK, 2)[:, :, :self.N, None]

    def in_bf16(self):
        return [(x.float() * s).bfloat16() for x, s in zip(self.numbers, self.scales)]

    def call(self, peer):
        if self.steps:
            raise RuntimeError("no other kernel makes these bytes")
        if peer not in self.calls:  # the first call is not timed
            self.calls[peer] = {"SDPA cuDNN": self.of_sdpa, "lesson 25": self.of_lesson_25,
                                "FlashAttention-3 e4m3": self.of_fa3, "cuDNN e4m3": self.of_cudnn}[self.names[peer]]()
        return self.calls[peer]()

    def of_sdpa(self):
        Q, K, V = (rows_outside(x) for x in self.in_bf16())
        return lambda: sdpa(BACKENDS["SDPA cuDNN"], Q, K, V, self.causal)

    def of_lesson_25(self):
        launcher = ctypes.CDLL(LESSON_25).hopper_flash
        arrays = [x.transpose(1, 2).contiguous() for x in self.in_bf16()]
        O, LSE = torch.empty_like(arrays[0]), torch.empty(self.B, self.H, self.N, device="cuda")
        tickets = torch.zeros(2, dtype=torch.int32, device="cuda")
        packed = Strides(self.N * self.H * self.d, self.H * self.d, self.d)
        pointers = [ctypes.c_void_p(x.data_ptr()) for x in (O, LSE, *arrays)]
        sizes = [self.B, self.N, self.N, self.H, self.H, self.d]
        rest = [ctypes.c_float(self.d**-0.5), int(self.causal), 0, 0, None, None, ctypes.c_void_p(tickets.data_ptr())]

        def call(kept=(arrays, LSE, tickets)):  # the pointers alone would not keep them
            if launcher(*pointers, *sizes, packed, packed, packed, packed, *rest):
                raise RuntimeError("lesson 25 refused")
            return O.transpose(1, 2)

        return call

    def one_scale(self):
        if self.per_block:
            raise RuntimeError("no scales of blocks")
        return self.scales

    def of_fa3(self):
        Q, K, V = (x.transpose(1, 2).contiguous().view(torch.float8_e4m3fn) for x in self.bytes)
        q, k, v = (s.expand(self.B, self.H).contiguous() for s in self.one_scale())

        def call():
            result = self.fa3.flash_attn_func(Q, K, V, causal=self.causal, q_descale=q, k_descale=k, v_descale=v)
            return (result[0] if isinstance(result, tuple) else result).transpose(1, 2)

        return call

    def of_cudnn(self):
        scales = [s.reshape(1, 1, 1, 1) for s in self.one_scale()]
        graph = cudnn.pygraph(io_data_type=cudnn.data_type.FP8_E4M3, intermediate_data_type=cudnn.data_type.FLOAT,
                              compute_data_type=cudnn.data_type.FLOAT)
        one = torch.ones(1, 1, 1, 1, device="cuda")
        given = [rows_outside(x) for x in self.bytes] + scales + [one / 256, one * 256, one * self.of_O]
        types = [cudnn.data_type.FP8_E4M3] * 3 + [cudnn.data_type.FLOAT] * 6
        inputs = [graph.tensor(dim=list(x.shape), stride=list(x.stride()), data_type=t) for x, t in zip(given, types)]
        outputs = graph.sdpa_fp8(*inputs[:3], *inputs[3:6], descale_s=inputs[6], scale_s=inputs[7], scale_o=inputs[8],
                                 is_inference=True, attn_scale=self.d**-0.5, use_causal_mask=self.causal)
        O = rows_outside(torch.empty(self.B, self.H, self.N, self.d, dtype=torch.uint8, device="cuda"))
        amax = [torch.empty(1, 1, 1, 1, device="cuda") for _ in range(2)]
        outputs[0].set_output(True).set_dim(list(O.shape)).set_stride(list(O.stride())).set_data_type(cudnn.data_type.FP8_E4M3)
        for tensor in outputs[2:4]:
            tensor.set_output(True).set_dim([1, 1, 1, 1]).set_stride([1, 1, 1, 1]).set_data_type(cudnn.data_type.FLOAT)
        try:
            graph.build([cudnn.heur_mode.A])
        except cudnn.cudnnGraphNotSupportedError as refused:  # no RuntimeError, as others refuse
            raise RuntimeError(str(refused)) from refused
        pack = dict(zip(inputs + [outputs[0], *outputs[2:4]], given + [O, *amax]))
        workspace = torch.empty(graph.get_workspace_size(), dtype=torch.uint8, device="cuda")

        def call():
            graph.execute(pack, workspace)
            return O

        return call

    def deliver(self, peer, O):
        if O.dtype == torch.uint8:
            O = (O.view(torch.float8_e4m3fn).float() / self.of_O).bfloat16()
        self.bench.put("O", O.transpose(1, 2))
        self.bench.put_agreed("LSE")

    @classmethod
    def warm(cls):
        """Nothing is compiled when it is called."""
