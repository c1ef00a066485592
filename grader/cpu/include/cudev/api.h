// C++ forms of API functions: typed pointers, and the line of a cudaMalloc for later messages.
#ifndef CUDEV_API_H
#define CUDEV_API_H

template <class T>
inline cudaError_t cudaMalloc(T** p, size_t bytes, const char* file = __builtin_FILE(),
                              int line = __builtin_LINE()) {
    return cudev_malloc_at((void**)p, bytes, file, line);
}

// The other allocations, for pointers of any type.
template <class T>
inline cudaError_t cudaMallocAsync(T** p, size_t bytes, cudaStream_t,
                                   const char* file = __builtin_FILE(),
                                   int line = __builtin_LINE()) {
    return cudev_malloc_at((void**)p, bytes, file, line);
}
template <class T>
inline cudaError_t cudaMallocPitch(T** p, size_t* pitch, size_t width_bytes, size_t height) {
    return cudaMallocPitch((void**)p, pitch, width_bytes, height);
}
template <class T> inline cudaError_t cudaMallocHost(T** p, size_t bytes) {
    return cudaMallocHost((void**)p, bytes);
}
template <class T> inline cudaError_t cudaHostAlloc(T** p, size_t bytes, unsigned flags) {
    return cudaHostAlloc((void**)p, bytes, flags);
}
template <class T>
inline cudaError_t cudaMallocManaged(T** p, size_t bytes, unsigned flags = cudaMemAttachGlobal) {
    return cudaMallocManaged((void**)p, bytes, flags);
}
template <class T>
inline cudaError_t cudaHostGetDevicePointer(T** device, void* host, unsigned flags) {
    return cudaHostGetDevicePointer((void**)device, host, flags);
}

// Symbols: a __device__ or __constant__ variable is passed as it stands.
template <class T>
inline cudaError_t cudaMemcpyToSymbol(const T& symbol, const void* src, size_t bytes,
                                      size_t offset = 0,
                                      cudaMemcpyKind kind = cudaMemcpyHostToDevice) {
    return cudev_to_symbol((void*)&symbol, sizeof symbol, src, bytes, offset, kind);
}
template <class T>
inline cudaError_t cudaMemcpyFromSymbol(void* dst, const T& symbol, size_t bytes, size_t offset = 0,
                                        cudaMemcpyKind kind = cudaMemcpyDeviceToHost) {
    return cudev_from_symbol(dst, &symbol, sizeof symbol, bytes, offset, kind);
}
template <class T>
inline cudaError_t
cudaMemcpyToSymbolAsync(const T& symbol, const void* src, size_t bytes, size_t offset = 0,
                        cudaMemcpyKind kind = cudaMemcpyHostToDevice, cudaStream_t = 0) {
    return cudev_to_symbol((void*)&symbol, sizeof symbol, src, bytes, offset, kind);
}
template <class T>
inline cudaError_t
cudaMemcpyFromSymbolAsync(void* dst, const T& symbol, size_t bytes, size_t offset = 0,
                          cudaMemcpyKind kind = cudaMemcpyDeviceToHost, cudaStream_t = 0) {
    return cudev_from_symbol(dst, &symbol, sizeof symbol, bytes, offset, kind);
}
template <class T> inline cudaError_t cudaGetSymbolAddress(void** p, const T& symbol) {
    return cudev_symbol_address(p, &symbol);
}
template <class T> inline cudaError_t cudaGetSymbolSize(size_t* bytes, const T& symbol) {
    *bytes = sizeof symbol;
    return cudaSuccess;
}

// Kernels.
template <class R, class... A>
inline cudaError_t cudaFuncSetAttribute(R (*kernel)(A...), cudaFuncAttribute attribute, int value) {
    return cudaFuncSetAttribute((const void*)kernel, attribute, value);
}
template <class R, class... A>
inline cudaError_t cudaFuncGetAttributes(cudaFuncAttributes* attributes, R (*kernel)(A...)) {
    return cudaFuncGetAttributes(attributes, (const void*)kernel);
}
template <class R, class... A>
inline cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, R (*kernel)(A...),
                                                                 int block_size,
                                                                 size_t shared_bytes) {
    return cudaOccupancyMaxActiveBlocksPerMultiprocessor(blocks, (const void*)kernel, block_size,
                                                         shared_bytes);
}
template <class R, class... A>
inline cudaError_t cudaFuncSetCacheConfig(R (*kernel)(A...), cudaFuncCache cache) {
    return cudaFuncSetCacheConfig((const void*)kernel, cache);
}
template <class R, class... A>
inline cudaError_t cudaFuncSetSharedMemConfig(R (*kernel)(A...), cudaSharedMemConfig banks) {
    return cudaFuncSetSharedMemConfig((const void*)kernel, banks);
}
template <class R, class... A>
inline cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
    int* blocks, R (*kernel)(A...), int block_size, size_t shared_bytes, unsigned flags) {
    return cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(blocks, (const void*)kernel,
                                                                  block_size, shared_bytes, flags);
}
template <class R, class... A>
inline cudaError_t cudaOccupancyAvailableDynamicSMemPerBlock(size_t* shared_bytes,
                                                             R (*kernel)(A...), int blocks,
                                                             int block_size) {
    return cudaOccupancyAvailableDynamicSMemPerBlock(shared_bytes, (const void*)kernel, blocks,
                                                     block_size);
}
template <class R, class... A>
inline cudaError_t
cudaOccupancyMaxPotentialBlockSizeWithFlags(int* grid, int* block, R (*kernel)(A...),
                                            size_t shared_bytes = 0, int most = 0, unsigned = 0) {
    return cudaOccupancyMaxPotentialBlockSize(grid, block, (const void*)kernel, shared_bytes, most);
}
// shared_bytes(threads) is what a block of so many needs: the block with most threads at once.
template <class F, class R, class... A>
inline cudaError_t cudaOccupancyMaxPotentialBlockSizeVariableSMem(int* grid, int* block,
                                                                  R (*kernel)(A...), F shared_bytes,
                                                                  int most = 0) {
    int best = 0, count = 0, multiprocessors = 0;
    cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, 0);
    if (most <= 0 || most > 1024) most = 1024;
    *grid = *block = 0;
    for (int size = most / 32 * 32; size > 0; size -= 32) {
        cudaError_t error = cudaOccupancyMaxActiveBlocksPerMultiprocessor(
            &count, (const void*)kernel, size, (size_t)shared_bytes(size));
        if (error != cudaSuccess) return error;
        if (count * size <= best) continue;
        best = count * size;
        *block = size;
        *grid = count * multiprocessors;
    }
    return cudaSuccess;
}
template <class F, class R, class... A>
inline cudaError_t cudaOccupancyMaxPotentialBlockSizeVariableSMemWithFlags(
    int* grid, int* block, R (*kernel)(A...), F shared_bytes, int most = 0, unsigned = 0) {
    return cudaOccupancyMaxPotentialBlockSizeVariableSMem(grid, block, kernel, shared_bytes, most);
}
template <class R, class... A>
inline cudaError_t cudaOccupancyMaxPotentialBlockSize(int* grid, int* block, R (*kernel)(A...),
                                                      size_t shared_bytes = 0, int most = 0) {
    return cudaOccupancyMaxPotentialBlockSize(grid, block, (const void*)kernel, shared_bytes, most);
}

#ifndef CUDEV_HOST
// cudaLaunchKernel: args[i] points at argument i of a kernel of known type.
namespace cudev {
template <size_t... I> struct indices {};
template <size_t n, size_t... I> struct count_to : count_to<n - 1, n - 1, I...> {};
template <size_t... I> struct count_to<0, I...> { typedef indices<I...> type; };
template <class... A>
inline cudaError_t launch_with(void (*kernel)(A...), const cudev_launch_site& site, A... args) {
    check_arguments(site, args...);
    return (cudaError_t)launch(site, [=] { kernel(args...); });
}
template <class... A, size_t... I>
inline cudaError_t launch_kernel(void (*kernel)(A...), const cudev_launch_site& site, void** args,
                                 indices<I...>) {
    (void)args;
    return launch_with<A...>(kernel, site, *(A*)args[I]...);
}
template <class... A, size_t... I>
inline cudaError_t launch_kernel_ex(const cudaLaunchConfig_t* config, void (*kernel)(A...),
                                    const named_launch& named, void** args, indices<I...>) {
    (void)args;
    return named.run<A...>(config, kernel, *(A*)args[I]...);
}
}  // namespace cudev

// cudaLaunchKernelEx(), in a file that is not rewritten; and with pointers to the arguments.
template <class... A, class... Args>
inline cudaError_t cudaLaunchKernelEx(const cudaLaunchConfig_t* config, void (*kernel)(A...),
                                      Args... args) {
    const cudev::named_launch named = {"cudaLaunchKernelEx", nullptr, "a header", 0, 1};
    return named.run<A...>(config, kernel, args...);
}
// The first parameter of both functions is what messages say of the kernel: rewrite/launches.c puts
// it there. A file that is not rewritten leaves it out.
template <class... A>
inline cudaError_t cudaLaunchKernelExC(const cudev::named_launch& named,
                                       const cudaLaunchConfig_t* config, void (*kernel)(A...),
                                       void** args) {
    return cudev::launch_kernel_ex(config, kernel, named, args,
                                   typename cudev::count_to<sizeof...(A)>::type());
}
template <class... A>
inline cudaError_t cudaLaunchKernelExC(const cudaLaunchConfig_t* config, void (*kernel)(A...),
                                       void** args, const char* file = __builtin_FILE(),
                                       int line = __builtin_LINE()) {
    return cudaLaunchKernelExC({"cudaLaunchKernelExC", nullptr, file, line, 1}, config, kernel,
                               args);
}

template <class... A>
inline cudaError_t cudaLaunchKernel(const cudev::named_launch& named, void (*kernel)(A...),
                                    dim3 grid, dim3 block, void** args, size_t shared_bytes = 0,
                                    cudaStream_t stream = 0) {
    const cudev_launch_site site =
        cudev::site(named.name, named.parameters, (const void*)kernel, named.file, named.line,
                    named.cluster, grid, block, shared_bytes, stream);
    return cudev::launch_kernel(kernel, site, args, typename cudev::count_to<sizeof...(A)>::type());
}
template <class... A>
inline cudaError_t cudaLaunchKernel(void (*kernel)(A...), dim3 grid, dim3 block, void** args,
                                    size_t shared_bytes = 0, cudaStream_t stream = 0,
                                    const char* file = __builtin_FILE(),
                                    int line = __builtin_LINE()) {
    return cudaLaunchKernel({"cudaLaunchKernel", nullptr, file, line, 1}, kernel, grid, block, args,
                            shared_bytes, stream);
}
#endif

#endif
