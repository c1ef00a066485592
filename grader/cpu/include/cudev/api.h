// C++ forms of API functions: typed pointers, and the line of a cudaMalloc for later messages.
#ifndef CUDEV_API_H
#define CUDEV_API_H

extern "C" cudaError_t cudev_malloc_at(void** p, size_t bytes, const char* file, int line);

template <class T>
inline cudaError_t cudaMalloc(T** p, size_t bytes, const char* file = __builtin_FILE(),
                              int line = __builtin_LINE()) {
    return cudev_malloc_at((void**)p, bytes, file, line);
}

#endif
