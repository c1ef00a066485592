"""table.py: which lessons have operations, and which lessons compute each other's gradients. Needs no PyTorch.

usage: table.py             prints the lessons, one a line
       table.py LESSON      prints the partners of 16_flash_backward_split, one a line
"""

import sys

# A lesson and its launchers' other halves: whose kernel computes the gradient of its forward pass,
# or the forward pass of its gradient. A lesson that has both, or that is its own gradient (a
# product of matrices), has no partner.
PARTNERS = {
    "12_flash_forward": ("15_flash_backward",),
    "13_causal_ragged": ("15_flash_backward",),
    "14_flash_tensor_core": ("16_flash_backward_split",),
    "15_flash_backward": ("13_causal_ragged",),
    "16_flash_backward_split": ("14_flash_tensor_core",),
    "17_gqa": (),
    "18_online_masks": (),
    "19_block_sparse": (),
    "20_pooled_scores": ("16_flash_backward_split",),
    "24_hopper_matmul": (),
    "25_hopper_flash": ("26_hopper_backward",),
    "26_hopper_backward": ("25_hopper_flash",),
    "28_flash_decode": (),
}


def name_of(lesson):
    """16, "16", "flash_backward_split" and "16_flash_backward_split" are the same lesson."""
    for name in PARTNERS:
        number, _, rest = name.partition("_")
        if str(lesson) in (name, number, rest):
            return name
    raise LookupError(f"Lesson {lesson} has no operation for PyTorch. These have: {', '.join(PARTNERS)}")


if __name__ == "__main__":
    try:
        print("\n".join(PARTNERS[name_of(sys.argv[1])] if len(sys.argv) > 1 else PARTNERS))
    except LookupError as none:
        sys.exit(none.args[0])
