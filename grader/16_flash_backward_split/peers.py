"""peers.py: PyTorch's and Triton's attention in bf16 (grader/bench/attention_peers.py)."""

from attention_peers import Backward as Peers  # noqa: F401  # bench/peers.py takes it from here
