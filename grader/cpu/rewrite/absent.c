// Parts of CUDA that this device lacks: words of the source, and headers.
#include "cpu/rewrite/rewrite.h"
#include <string.h>

static const struct absent {
    const char* word;  // of the source, or how a header's name begins
    const char* what;
    const char* use;
} absent_words[] =
    {
        {"tex1D", "textures", "plain loads"},
        {"tex2D", "textures", "plain loads"},
        {"tex3D", "textures", "plain loads"},
        {"tex1Dfetch", "textures", "plain loads"},
        {"cudaTextureObject_t", "textures", "plain loads"},
        {"cudaSurfaceObject_t", "surfaces", "plain loads and stores"},
        {"cudaArray_t", "textures", "memory from cudaMalloc"},
        {"cudaGraph_t", "graphs", "plain launches"},
        {"cudaStreamBeginCapture", "graphs", "plain launches"},
        {"cudaLaunchCooperativeKernel", "cooperative launches", "one kernel after the other"},
        {"cudaLaunchKernelEx", "launch attributes", "<<< >>> and __cluster_dims__()"},
        {"__managed__", "managed variables", "__device__ and cudaMemcpyToSymbol()"},
        {"cudaHostRegister", "registered host memory", "cudaMallocHost"},
        {"cudaMemPrefetchAsync", "prefetching", "cudaMemcpy"},
        {"cudaMemAdvise", "advice on managed memory", "cudaMemcpy"},
        {"__pipeline_memcpy_async", "pipeline primitives", "cp_async16() of ptx.h"},
},
  absent_headers[] = {
      {"cooperative_groups", "cooperative groups", "__syncthreads() and __syncwarp()"},
      {"cublas", "cuBLAS", "a kernel of your own"},
      {"cudnn", "cuDNN", "a kernel of your own"},
      {"curand", "cuRAND", "a generator of your own"},
      {"cufft", "cuFFT", "a kernel of your own"},
      {"cusparse", "cuSPARSE", "a kernel of your own"},
      {"cusolver", "cuSOLVER", "a kernel of your own"},
      {"cutlass/", "CUTLASS", "a kernel of your own"},
      {"cute/", "CuTe", "a kernel of your own"},
      {"thrust/", "Thrust", "a kernel of your own"},
      {"cub/", "CUB", "a kernel of your own"},
      {"cuda/", "libcu++", "__syncthreads(), atomicAdd() and the functions of ptx.h"},
      {"cuda_pipeline", "pipeline primitives", "cp_async16() and its like in ptx.h"},
      {"mma.h", "nvcuda::wmma", "the functions of ptx.h"},
      {"texture_", "textures", "plain loads"},
      {"cuda_texture", "textures", "plain loads"},
      {"cuda_surface", "surfaces", "plain loads and stores"},
      {"cuda_fp8", "8-bit floats", "__half or float"},
      {"nvtx3/", "NVTX", "make profile"},
      {"nvToolsExt", "NVTX", "make profile"},
      {"immintrin", "instructions of one processor", "plain C"},
      {"x86intrin", "instructions of one processor", "plain C"},
      {"xmmintrin", "instructions of one processor", "plain C"},
      {"emmintrin", "instructions of one processor", "plain C"},
      {"arm_neon", "instructions of one processor", "plain C"},
};

void check_absent(size_t i) {
    for (size_t j = 0; j < sizeof absent_words / sizeof absent_words[0]; j++)
        if (is(i, absent_words[j].word))
            fail(tokens[i].line, "not on the CPU device: %s, use %s", absent_words[j].what,
                 absent_words[j].use);
}

bool absent_header(const char* name, const char** what, const char** use) {
    for (size_t j = 0; j < sizeof absent_headers / sizeof absent_headers[0]; j++) {
        const struct absent* a = &absent_headers[j];
        if (strncmp(name, a->word, strlen(a->word)) != 0) continue;
        *what = a->what;
        *use = a->use;
        return true;
    }
    return false;
}
