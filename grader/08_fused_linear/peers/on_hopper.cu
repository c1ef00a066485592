// on_hopper.cu: the layer on lesson 24's product, for Hopper GPUs alone: what an epilogue costs
// where wgmma makes the sums.
#include "hopper.h"

#include "../../../solutions/24_hopper_matmul/layer/fused_linear.cu"
