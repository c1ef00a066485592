// The interface between the headers that a .cu includes and the C runtime of the CPU device.
// Nothing here is for a .cu to call: kernels use CUDA's own names, which the headers define.
#ifndef CUDEV_ABI_H
#define CUDEV_ABI_H

#include "../cuda_runtime_api.h"

#ifdef __cplusplus
extern "C" {
#endif

// A __shared__ array: one static object per declaration, one piece of memory per block.
struct cudev_shared_array {
    const char* name;
    const char* file;
    int line;
    size_t bytes;
    size_t align;
    size_t element;      // bytes of one element
    unsigned extent[4];  // elements per dimension, outermost first; 0 ends
};

// A member of a structure over dynamic shared memory. A list ends with one without a name.
struct cudev_member {
    const char* name;
    size_t begin, bytes;  // from the structure's beginning
    size_t element;
    unsigned extent[4];
};

// One launch as written in the source. Sizes in threads, blocks and bytes.
struct cudev_launch_site {
    const char* name;        // the kernel as written: "copy<float>"
    const char* parameters;  // their names: "out,in,n"; NULL when not known
    const char* file;        // where <<< >>> stands
    int line;
    const void* kernel;  // address for cudaFuncSetAttribute, NULL when it cannot be told
    unsigned grid[3];
    unsigned block[3];
    size_t shared_bytes;
    void* stream;
    unsigned cluster;   // blocks of a cluster, along x; 0 or 1: none
    unsigned overlaps;  // 1: it may begin before the kernel before it has ended
};

enum cudev_warp_op {
    CUDEV_SYNCWARP,
    CUDEV_SHFL,
    CUDEV_SHFL_UP,
    CUDEV_SHFL_DOWN,
    CUDEV_SHFL_XOR,
    CUDEV_SHFL_8,  // of 8 bytes: two words
    CUDEV_SHFL_UP_8,
    CUDEV_SHFL_DOWN_8,
    CUDEV_SHFL_XOR_8,
    CUDEV_BALLOT,
    CUDEV_ALL,
    CUDEV_ANY,
    CUDEV_MATCH_ANY,
    CUDEV_MATCH_ALL,
    CUDEV_REDUCE_ADD,
    CUDEV_REDUCE_AND,
    CUDEV_REDUCE_OR,
    CUDEV_REDUCE_XOR,
    CUDEV_REDUCE_MIN,
    CUDEV_REDUCE_MAX,
    CUDEV_REDUCE_MIN_SIGNED,
    CUDEV_REDUCE_MAX_SIGNED,
    CUDEV_ACTIVEMASK,
    CUDEV_NAMED_SYNC,  // these two have no mask: all lanes; `arg`: barrier, `width`: threads
    CUDEV_NAMED_ARRIVE,
    CUDEV_LDMATRIX,  // `arg`: matrices, `width`: transposed
    CUDEV_MMA,
};

enum cudev_barrier_op { CUDEV_BARRIER, CUDEV_BARRIER_COUNT, CUDEV_BARRIER_AND, CUDEV_BARRIER_OR };

// blockDim.x as long as no thread of the running block has waited, 0 from then on. Up to there the
// launch loop starts the threads of a row by itself.
extern __thread unsigned cudev_row_end;

// The calling thread has returned from the kernel. Returns 1 when the caller shall run the kernel
// once more, now as another thread of the block; 0 when the block is finished.
int cudev_next_thread(void);

// A thread is about to start, called from where this is called. Nothing is left on its stack of an
// earlier thread: NaN is there, as far down as threads of this launch have been.
void cudev_clean_stack(void);
void cudev_clean_watched_stack(void);  // in an instrumented program

// Runs `run(body)` for every block of the grid; returns a cudaError_t.
// `run` calls the kernel once per thread, cudev_next_thread() between the calls.
// `body` has `bytes` bytes.
int cudev_launch(const struct cudev_launch_site* site, void (*run)(void*), void* body,
                 size_t bytes);

// Fills in what cudaLaunchKernelEx() says of a launch: all but the kernel's name, parameters and
// place. Returns an error for attributes that are not here.
cudaError_t cudev_configure(struct cudev_launch_site* site, const cudaLaunchConfig_t* config);

// Keeps a configuration while the launch's arguments are evaluated, per host thread.
void cudev_push_site(const struct cudev_launch_site* site);
void cudev_pop_site(struct cudev_launch_site* site);

// Ends the program with a diagnosis unless argument number `index` (from 0) may be used by a
// kernel. `bytes`: the size of what it points at, 0 when that is not known.
void cudev_check_argument(const struct cudev_launch_site* site, int index, const volatile void* p,
                          size_t bytes);

// The C++ forms of the API call these: cudev/api.h.
cudaError_t cudev_malloc_at(void** p, size_t bytes, const char* file, int line);
cudaError_t cudev_to_symbol(void* symbol, size_t symbol_bytes, const void* src, size_t bytes,
                            size_t offset, enum cudaMemcpyKind kind);
cudaError_t cudev_from_symbol(void* dst, const void* symbol, size_t symbol_bytes, size_t bytes,
                              size_t offset, enum cudaMemcpyKind kind);
cudaError_t cudev_symbol_address(void** p, const void* symbol);

// Ends the program: the running block has more threads than its kernel's __launch_bounds__, `most`.
void cudev_beyond_bounds(unsigned most);
// Memory of a __shared__ array of the running block, filled with 0xFF bytes when first asked for.
void* cudev_shared(const struct cudev_shared_array* array);
// The dynamic shared memory of the running block, aligned to 1024 bytes. `array` says how it is
// declared (bytes and the outermost extent are 0), NULL: not known.
void* cudev_dynamic_shared(const struct cudev_shared_array* array);

// A structure with these members is laid over `memory`: over dynamic shared memory, or nothing.
void cudev_laid_over(const void* memory, const struct cudev_member* members);

// __syncthreads and its voting variants; the result of the vote can be read afterwards.
void cudev_barrier(enum cudev_barrier_op op, int vote, const char* file, int line);
int cudev_vote_result(void);

// A function that the lanes named in `mask` execute together. `value` holds the lane's operand
// (zero-extended), `arg` the source lane, delta or lane mask, `width` the sub-warp size of a
// shuffle.
unsigned long long cudev_warp(enum cudev_warp_op op, unsigned mask, unsigned long long value,
                              unsigned arg, unsigned width, const char* file, int line);

// ---- instructions that CUDA C has no word for: cudev/instructions.h, lessons/ptx.h

// cp.async: `used` of `bytes` (4, 8 or 16) at `from` in global memory go to `to` in shared memory,
// the rest becomes zero. Nothing arrives before the calling thread has waited for it.
void cudev_copy_async(void* to, const void* from, unsigned bytes, unsigned used, const char* file,
                      int line);
// The copies that the thread has issued since its last commit are a group, maybe an empty one.
void cudev_copy_commit(void);
// All groups of the thread but its `pending` newest have arrived.
void cudev_copy_wait(unsigned pending);
// Barrier `id` of the block opens when `threads` threads have come; op says whether this one waits.
void cudev_named_barrier(enum cudev_warp_op op, unsigned id, unsigned threads, const char* file,
                         int line);

// mma.sync.m16n8k16: the calling lane's share of D += A B. half: only for the name in a report.
struct cudev_mma {
    float d[4], a[8], b[4];
    const void* pc;  // the runtime's
};
void cudev_multiply(struct cudev_mma* operands, int half, const char* file, int line);
// ldmatrix: 1, 2 or 4 matrices of 8 x 8 16-bit numbers, their rows in shared memory at what lanes
// 0..7, 8..15, ... give as `row`; one word of each for the calling lane.
void cudev_load_matrices(unsigned* words, const void* row, unsigned matrices, int transposed,
                         const char* file, int line);

// A loop of an instrumented kernel begins its next round, or ends: lanes of a warp meet here. loop:
// its number in the file; depth: how many loops it lies in, below 256.
void cudev_next_round(unsigned loop, unsigned depth);

// Lets other threads of the block run; cudev_spin() does so at every 64th call.
void cudev_yield(void);
void cudev_spin(void);

// A clock that counts nanoseconds.
long long cudev_clock(void);

// Ends the program: __trap().
void cudev_trap(const char* file, int line) __attribute__((noreturn));

// Ends the program: the source has something at this line that does not exist on this device.
void cudev_not_here(const char* what, const char* next, const char* file, int line)
    __attribute__((noreturn));

#ifdef __cplusplus
}
#endif
#endif
