// instructions.h for an editor: see cuda_runtime.h.
#pragma once
#pragma clang force_cuda_host_device begin
#include_next <cudev/instructions.h>
#pragma clang force_cuda_host_device end
