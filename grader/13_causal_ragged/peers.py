"""peers.py: PyTorch's and Triton's attention in fp16 (grader/bench/attention_peers.py)."""

import torch
from attention_peers import ROUNDS_P, Forward


class Peers(Forward):
    dtype, looser, batched = torch.float16, ROUNDS_P, False
