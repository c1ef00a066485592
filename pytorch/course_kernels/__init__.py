"""course_kernels: the course's kernels, yours first of all, as operations of PyTorch: torch.ops.course.*

pytorch/README.md explains every line of it.
"""

from . import ops_attention, ops_others
from .library import calls, use
from .ops_attention import attention
from .table import PARTNERS, name_of

__all__ = ["PARTNERS", "attention", "calls", "name_of", "ops_attention", "ops_others", "use"]
