// Parts of CUDA that this device lacks: words of the source, and headers. Each function of the
// runtime's documentation is declared in include/cuda_runtime_api.h or stands here. wall/inspect.c
// refuses, with its reason, what the device has and a graded file may not call: copies in three
// dimensions, functions of the host in a stream.
#include "cpu/rewrite/rewrite.h"
#include <stdio.h>
#include <string.h>

// Words that a file that is not graded may use all the same: include/any has them, cpu/any runs
// them.
static const char words_of_any[] =
    "tex1D tex2D tex3D tex1Dfetch tex2DLayered cudaTextureObject_t cudaTextureDesc "
    "cudaResourceDesc "
    "cudaChannelFormatDesc cudaCreateChannelDesc cudaGetChannelDesc cudaCreateTextureObject "
    "cudaDestroyTextureObject surf1Dread surf2Dread surf1Dwrite surf2Dwrite cudaSurfaceObject_t "
    "cudaCreateSurfaceObject cudaDestroySurfaceObject cudaArray_t cudaArray_const_t cudaArray "
    "cudaMallocArray cudaMalloc3DArray cudaFreeArray cudaMemcpyToArray cudaMemcpyFromArray "
    "cudaMemcpy2DToArray cudaMemcpy2DFromArray cudaLaunchCooperativeKernel __managed__ "
    "cudaHostRegister cudaHostUnregister cudaHostGetFlags cudaMemPrefetchAsync cudaMemAdvise "
    "cudaMemAdviseSet* cudaMemAdviseUnset* "
    "cudaStreamAttachMemAsync cudaMemcpyPeer cudaMemcpyPeerAsync cudaDeviceEnablePeerAccess "
    "cudaDeviceDisablePeerAccess cudaDeviceGetPCIBusId cudaProfilerStart cudaProfilerStop "
    "cudaThreadSynchronize cudaThreadExit cudaThreadSetLimit cudaThreadGetLimit "
    "cudaThreadSetCacheConfig cudaThreadGetCacheConfig "
    "cooperative_groups cublas* CUBLAS_*";
static const char headers_of_any[] =
    "cooperative_groups.h cooperative_groups/reduce.h cooperative_groups/scan.h "
    "cooperative_groups/memcpy_async.h cublas_v2.h cublasLt.h cuda_profiler_api.h helper_* "
    "exception.h texture_types.h texture_indirect_functions.h surface_types.h "
    "surface_indirect_functions.h cuda_texture_types.h cuda_surface_types.h "
    "texture_fetch_functions.h "
    "immintrin* x86intrin* xmmintrin* emmintrin* arm_neon*";

static const struct absent {
    const char* words;  // of the source; "cudaGraph*": all that begin so
    const char* what;
    const char* use;
} absent_words[] =
    {
        {"tex1D tex2D tex3D tex1Dfetch tex1DLayered tex2DLayered tex1DLod tex2DLod tex3DLod "
         "tex2Dgather "
         "texCubemap cudaTextureObject_t cudaTextureDesc cudaResourceDesc cudaResourceViewDesc "
         "cudaChannelFormatDesc cudaCreateChannelDesc cudaGetChannelDesc cudaCreateTextureObject "
         "cudaDestroyTextureObject cudaGetTextureObject* cudaDeviceGetTexture1DLinearMaxWidth",
         "textures", "plain loads"},
        {"cudaBindTexture* cudaUnbindTexture cudaGetTextureReference cudaBindSurface*",
         "references to textures, which CUDA has no longer", "texture objects, or plain loads"},
        {"surf1Dread surf2Dread surf3Dread surf1Dwrite surf2Dwrite surf3Dwrite cudaSurfaceObject_t "
         "cudaCreateSurfaceObject cudaDestroySurfaceObject cudaGetSurfaceObject*",
         "surfaces", "plain loads and stores"},
        {"cudaArray_t cudaArray_const_t cudaArray cudaArrayGet* cudaMallocArray cudaMalloc3DArray "
         "cudaFreeArray cudaMipmappedArray* cudaMallocMipmappedArray cudaFreeMipmappedArray "
         "cudaGetMipmappedArrayLevel cudaMemcpyToArray* cudaMemcpyFromArray* "
         "cudaMemcpyArrayToArray "
         "cudaMemcpy2DToArray* cudaMemcpy2DFromArray* cudaMemcpy2DArrayToArray",
         "arrays for textures", "memory from cudaMalloc"},
        {"cudaMemcpyBatchAsync cudaMemcpy3DBatchAsync cudaMemcpy3DWithAttributesAsync "
         "cudaMemDiscard* cudaMemPrefetchBatchAsync",
         "batches of copies", "cudaMemcpy"},
        {"cudaGraphics* cudaGL* cudaEGL* cudaVDPAU* cudaD3D9* cudaD3D10* cudaD3D11* "
         "cudaImportExternal* cudaExternal* cudaDestroyExternal* cudaSignalExternal* "
         "cudaWaitExternal* cudaDeviceGetNvSciSyncAttributes "
         "cudaDeviceFlushGPUDirectRDMAWrites",
         "memory of graphics and other devices", "cudaMalloc"},
        {"cudaGraph* cudaUserObject* cudaStreamBeginCapture* cudaStreamEndCapture "
         "cudaStreamIsCapturing cudaStreamGetCaptureInfo* cudaStreamUpdateCaptureDependencies* "
         "cudaThreadExchangeStreamCaptureMode cudaGetCurrentGraphExec cudaDeviceGraphMemTrim "
         "cudaDeviceGetGraphMemAttribute cudaDeviceSetGraphMemAttribute",
         "graphs", "plain launches"},
        {"cudaLaunchCooperativeKernel* cudaCG*", "cooperative launches",
         "one kernel after the other"},
        {"__clusterDim* __clusterGrid* __clusterIdx* __clusterRelative* __clusterSize* "
         "__cluster_barrier* __cluster_map* __cluster_query* cudaOccupancyMaxActiveClusters "
         "__threadfence_cluster "
         "cudaOccupancyMaxPotentialClusterSize",
         "CUDA's functions for clusters", "those of hopper.h"},
        {"cudaGridDependencySynchronize cudaTriggerProgrammaticLaunchCompletion",
         "CUDA's functions for launches that overlap",
         "griddep_wait() and griddep_launch() of hopper.h"},
        {"cudaLaunchDevice* cudaGetParameterBuffer*", "a kernel that launches kernels",
         "launches by the host"},
        {"cudaLaunchHostFunc_v2", "functions of the host with a way to wait", "cudaLaunchHostFunc"},
        {"__managed__", "managed variables", "__device__ and cudaMemcpyToSymbol()"},
        {"cudaHostRegister cudaHostUnregister cudaHostGetFlags", "registered host memory",
         "cudaMallocHost"},
        {"cudaMemPrefetchAsync*", "prefetching", "cudaMemcpy"},
        {"cudaMemAdvise* cudaMemRange* cudaStreamAttachMemAsync", "advice on managed memory",
         "cudaMemcpy"},
        {"cudaMemPool* cudaMallocFromPoolAsync cudaDeviceGetDefaultMemPool cudaDeviceGetMemPool "
         "cudaDeviceSetMemPool cudaMemGetDefaultMemPool cudaMemGetMemPool cudaMemSetMemPool",
         "pools of memory", "cudaMalloc"},
        {"cudaCtxResetPersistingL2Cache cudaAccessPolicyWindow cudaStreamAttr* "
         "cudaStreamGetAttribute cudaStreamSetAttribute cudaStreamCopyAttributes",
         "attributes of streams", "a stream as cudaStreamCreate() makes it"},
        {"cudaMemcpyPeer* cudaMemcpy3DPeer* cudaDeviceEnablePeerAccess cudaDeviceDisablePeerAccess "
         "cudaDeviceGetP2P* cudaSetValidDevices cudaDeviceGetByPCIBusId cudaDeviceGetPCIBusId "
         "cudaDeviceGetHostAtomicCapabilities",
         "several devices", "device 0"},
        {"cudaIpc*", "memory of other processes", "cudaMalloc"},
        {"cudaLibrary* cudaKernel* cudaGetKernel cudaGetFuncBySymbol cudaGetDriverEntryPoint* "
         "cudaGetExportTable cudaFuncGetName cudaFuncGetParamInfo",
         "kernels that are found at run time", "<<< >>> with the kernel's name"},
        {"cudaLogs* cudaDeviceRegisterAsyncNotification cudaDeviceUnregisterAsyncNotification",
         "messages of the runtime", "cudaGetErrorString()"},
        {"cudaProfilerStart cudaProfilerStop cudaProfilerInitialize __prof_trigger __pm0 __pm1 "
         "__pm2 __pm3",
         "marks for a profiler", "make profile"},
        {"cudaThreadSynchronize cudaThreadExit cudaThreadSetLimit cudaThreadGetLimit "
         "cudaThreadSetCacheConfig cudaThreadGetCacheConfig cudaConfigureCall cudaSetupArgument "
         "cudaLaunch cudaSetDoubleForDevice cudaSetDoubleForHost",
         "what CUDA has no longer", "cudaDeviceSynchronize() and its like, <<< >>>"},
        {"cuInit cuCtx* cuDevice* cuMem* cuModule* cuLaunch* cuStream* cuEvent* cuFunc* "
         "cuGetErrorString cuGetErrorName CUdeviceptr CUresult CUcontext CUmodule CUfunction "
         "CUdevice CUstream",
         "the driver's functions", "those of the runtime, which begin with cuda"},
        {"cooperative_groups", "cooperative groups", "__syncthreads() and __syncwarp()"},
        {"block_tile_memory", "tiles of more than 32 threads", "the block, or tiles of 32"},
        {"nvcuda wmma", "nvcuda::wmma", "the functions of ptx.h"},
        {"thrust", "Thrust", "a kernel of your own"},
        {"cublas* CUBLAS_*", "cuBLAS", "a kernel of your own"},
        {"curand*", "cuRAND", "a generator of your own"},
        {"__pipeline_memcpy_async __pipeline_commit __pipeline_wait_prior __pipeline_arrive_on "
         "__nv_memcpy_async*",
         "pipeline primitives", "cp_async16() of ptx.h"},
        {"__barrier_sync __barrier_sync_count", "barriers with numbers", "named_sync() of ptx.h"},
        {"__cvta_generic_to_shared __cvta_generic_to_local __cvta_generic_to_constant "
         "__cvta_generic_to_grid_constant __cvta_shared_to_generic __cvta_local_to_generic "
         "__cvta_constant_to_generic __cvta_global_to_generic __cvta_grid_constant_to_generic",
         "addresses for inline PTX", "the functions of ptx.h, which take pointers"},
        {"__isGlobal __isShared __isLocal __isConstant __isGridConstant __isClusterShared "
         "__isCtaShared",
         "the kind of memory behind a pointer", "a parameter that says it"},
        {"__fadd2_rn __fadd2_rz __fadd2_ru __fadd2_rd __fmul2_rn __fmul2_rz __fmul2_ru __fmul2_rd "
         "__ffma2_rn __ffma2_rz __ffma2_ru __ffma2_rd",
         "pairs of floats, which GPUs have from sm_100 on", "__fmaf_rn() and its like, twice"},
        {"__nv_fp128_*", "floats of 128 bits, which GPUs have from sm_100 on", "double"},
        {"__u128AtomicCAS* __u128AtomicExch* __nv_atomic_*", "atomics of 128 bits and with scopes",
         "atomicCAS() and its like"},
        {"__brkpt", "breakpoints in the source", "make debug"},
        {"__nv_associate_access_property* __nv_aligned_device_malloc", "hints to the cache",
         "plain loads"},
},
  absent_headers[] = {
      {"cooperative_groups*", "cooperative groups", "__syncthreads() and __syncwarp()"},
      {"cublas*", "cuBLAS", "a kernel of your own"},
      {"cudnn*", "cuDNN", "a kernel of your own"},
      {"curand*", "cuRAND", "a generator of your own"},
      {"cufft*", "cuFFT", "a kernel of your own"},
      {"cusparse*", "cuSPARSE", "a kernel of your own"},
      {"cusolver*", "cuSOLVER", "a kernel of your own"},
      {"nccl*", "NCCL", "a kernel of your own"},
      {"cutlass/*", "CUTLASS", "a kernel of your own"},
      {"cute/*", "CuTe", "a kernel of your own"},
      {"thrust/*", "Thrust", "a kernel of your own"},
      {"cub/*", "CUB", "a kernel of your own"},
      {"torch/* ATen/* c10/*", "PyTorch", "the launcher that the contract declares"},
      {"cuda/*", "libcu++", "__syncthreads(), atomicAdd() and the functions of ptx.h"},
      {"cuda_pipeline* cuda_awbarrier*", "pipeline primitives",
       "cp_async16() and its like in ptx.h"},
      {"mma.h", "nvcuda::wmma", "the functions of ptx.h"},
      {"mpi.h", "MPI", "one process"},
      {"GL/* GLFW/* cuda_gl_interop.h helper_gl.h rendercheck_gl.h", "OpenGL",
       "memory from cudaMalloc, and a file of pixels"},
      {"nvml.h", "NVML", "cudaGetDeviceProperties()"},
      {"texture_* cuda_texture*", "textures", "plain loads"},
      {"surface_* cuda_surface*", "surfaces", "plain loads and stores"},
      {"cuda_fp8* cuda_fp6* cuda_fp4*", "floats of 8 bits and fewer", "__half or float"},
      {"nvtx3/* nvToolsExt* cuda_profiler_api.h cudaProfiler.h", "marks for a profiler",
       "make profile"},
      {"nvrtc*", "NVRTC", "kernels that stand in the file"},
      {"cudaTypedefs.h", "the driver's functions", "those of the runtime, which begin with cuda"},
      {"helper_* exception.h", "the helpers of NVIDIA's samples",
       "COURSE_TRY() of course.h, and what a call returns"},
      {"immintrin* x86intrin* xmmintrin* emmintrin* arm_neon*", "instructions of one processor",
       "plain C"},
};

// Is the word of n characters one of `words`? "cudaGraph*" stands for all that begin so.
static bool is_among(const char* words, const char* word, size_t n) {
    for (size_t m; *words; words += m + (words[m] == ' ')) {
        m = strcspn(words, " ");
        bool open = words[m - 1] == '*';
        size_t kept = m - open;
        if ((open ? n >= kept : n == kept) && memcmp(words, word, kept) == 0) return true;
    }
    return false;
}

void check_absent(size_t i) {
    if (any_source && is_among(words_of_any, tokens[i].text, tokens[i].length)) return;
    for (size_t j = 0; j < sizeof absent_words / sizeof absent_words[0]; j++)
        if (is_among(absent_words[j].words, tokens[i].text, tokens[i].length))
            fail(i, "not on the CPU device: %s, use %s", absent_words[j].what, absent_words[j].use);
}

bool absent_header(const char* name, const char** what, const char** use) {
    for (size_t j = 0; j < sizeof absent_headers / sizeof absent_headers[0]; j++) {
        const struct absent* a = &absent_headers[j];
        if (any_source && is_among(headers_of_any, name, strcspn(name, ">\"\n"))) return false;
        if (!is_among(a->words, name, strcspn(name, ">\"\n"))) continue;
        *what = a->what;
        *use = a->use;
        return true;
    }
    return false;
}

bool has_include_guard(void) {
    const struct token* t = &tokens[0];
    const char *p = t->text, *end = t->text + (t->kind == SPACE ? t->length : 0);
    char name[100], again[100];
    for (; p < end && *p != '#'; p++) {
        if (p[0] == '/' && p + 1 < end && p[1] == '/') p += strcspn(p, "\n");
        if (p[0] == '/' && p + 1 < end && p[1] == '*')
            for (p += 2; p + 1 < end && !(p[0] == '*' && p[1] == '/');) p++;
    }
    static const char guard[] = "# ifndef %99[A-Za-z0-9_] # define %99[A-Za-z0-9_]";
    return p < end && sscanf(p, guard, name, again) == 2 && strcmp(name, again) == 0;
}

// Behind the # of a directive at p: does it have this name?
static bool is_directive(const char* p, const char* name) {
    p += 1 + strspn(p + 1, " \t");
    return strncmp(p, name, strlen(name)) == 0;
}

int check_directives(size_t space, int conditions) {
    int line = tokens[space].line;
    const char *p = tokens[space].text, *end = p + tokens[space].length, *what, *use;
    for (bool start = space == 0; p < end; p++) {
        if (*p == '\n') {
            line++;
            start = true;
        } else if (p[0] == '/' && p + 1 < end && p[1] == '/') {
            while (p + 1 < end && p[1] != '\n') p++;
        } else if (p[0] == '/' && p + 1 < end && p[1] == '*') {
            for (p += 2; p + 1 < end && !(p[0] == '*' && p[1] == '/'); p++) line += *p == '\n';
            p++;
        } else if (*p == '#' && start) {
            const char* name = p + strcspn(p, "<\"\n");
            conditions += is_directive(p, "if");
            conditions -= is_directive(p, "endif");
            if (!conditions && is_directive(p, "include") && absent_header(name + 1, &what, &use))
                fail_here(line, p, "not on the CPU device: %s, use %s", what, use);
            start = false;
        } else if (*p != ' ' && *p != '\t') {
            start = false;
        }
    }
    return conditions;
}
