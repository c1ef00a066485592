// cuda_fp16.h for an editor: see cuda_runtime.h.
#pragma once
#pragma clang force_cuda_host_device begin
#include_next <cuda_fp16.h>
#pragma clang force_cuda_host_device end
