"""peers.py: PyTorch's and Triton's attention in fp16, heads outside (grader/bench/attention_peers.py)."""

import torch
from attention_peers import ROUNDS_P, Forward


class Peers(Forward):
    dtype, looser, batched = torch.float16, ROUNDS_P, False
    layout, other = Forward.other, Forward.layout
