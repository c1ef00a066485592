"""peers.py: PyTorch's and Triton's attention in bf16 (grader/bench/attention_peers.py), and FlashAttention-3 where FA3=path
names the folder that its installed Python module flash_attn_interface lies in. Without FA3 there is no row of it."""

from attention_peers import Backward, beside_fa3

Peers = beside_fa3(Backward)
