// Faults: a kernel's bad address, host code in device memory, a stack that is full; and asking a
// running worker where it is, for the watchdog. All of it happens in signal handlers.
#include "cpu/device/fault.h"
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>
#include "cpu/device/allocations.h"
#include "cpu/device/far.h"
#include "cpu/device/lines.h"
#include "cpu/device/report.h"
#include "cpu/device/stacks.h"
#include "cpu/device/symbols.h"
#include "cpu/include/cudev.h"

enum { HANDLER_STACK = 64 << 10 };
#define ASK_SIGNAL (SIGRTMIN + 4)

// Was it an instruction that takes multiples of 16 bytes only (movaps, movapd, movdqa: a float4)?
// For a wrong address x86 raises the same signal as for no address at all, and does not name the
// address.
static bool at_aligned_move(const siginfo_t* info, const void* context) {
#ifdef __x86_64__
    const ucontext_t* there = context;
    if (info->si_code != SI_KERNEL) return false;
    const unsigned char* code = (const unsigned char*)there->uc_mcontext.gregs[REG_RIP];
    while (*code == 0x66 || *code >> 4 == 4) code++;  // prefixes
    return code[0] == 0x0f &&
           (code[1] == 0x28 || code[1] == 0x29 || code[1] == 0x6f || code[1] == 0x7f);
#else
    (void)info, (void)context;  // aarch64 moves them
    return false;
#endif
}

static void report_misaligned(struct worker* w, void* const* frames, int n) {
    cudev_report_begin("misaligned",
                       "thread %s moves 16 bytes at an address that is no multiple of 16",
                       cudev_thread_name(w, cudev_current(w)));
    cudev_report_launch(w);
    cudev_report_frames(frames, n);
    cudev_report_add(
        "  next: does every row begin at a multiple of 16 bytes? pointers and strides decide; "
        "where not, move one element at a time\n");
    cudev_report_end(EXIT_BAD_ADDRESS);
}

static void report_kernel_fault(struct worker* w, const void* address, void* const* frames, int n,
                                int signal) {
    unsigned t = cudev_current(w);
    char where[300] = "a NULL pointer";
    if ((uintptr_t)address >= 4096) cudev_describe_address(where, sizeof where, address);
    bool overflow = cudev_stack_guard_hit(w, address);
    bool host = !overflow && cudev_is_host_memory && cudev_is_host_memory(address);
    if (overflow)
        cudev_report_begin("stack_overflow",
                           "stack overflow in thread %s: more than %zu KB of local variables",
                           cudev_thread_name(w, t), (STACK_SIZE - 4096) >> 10);
    else if (signal == SIGFPE)
        cudev_report_begin("divided_by_zero", "integer division by zero in thread %s",
                           cudev_thread_name(w, t));
    else if (host)
        cudev_report_begin("host_pointer",
                           "thread %s follows a pointer to host memory: %#lx, which is not device "
                           "memory",
                           cudev_thread_name(w, t), (unsigned long)address);
    else
        cudev_report_begin("bad_address", "bad address %#lx in thread %s: %s",
                           (unsigned long)address, cudev_thread_name(w, t), where);
    cudev_report_launch(w);
    cudev_report_frames(frames, n);
    cudev_report_add(
        overflow ? "  next: is there a recursion or a large array in the kernel? a GPU has even "
                   "less: use a loop, or shared or global memory\n"
        : signal == SIGFPE
            ? "  next: which size makes the divisor 0? a GPU does not stop here, and goes on with "
              "some number\n"
        : host
            ? "  next: allocate with cudaMalloc, copy with cudaMemcpy, and pass that pointer, in a "
              "structure as well\n"
            : "  next: print the index at that line; is there a guard such as if (i < n)? was "
              "the pointer set by cudaMalloc, and with a size in bytes?\n");
    cudev_report_end(EXIT_BAD_ADDRESS);
}

// In device memory, or in the shared memory and the stacks of kernels?
static bool is_of_device(const void* p) {
    const char* address = (const char*)p;
    return cudev_is_far(p) ||
           (address >= HEAP_BASE && address < WINDOW_BASE + MAX_WORKERS * SHARED_WINDOW) ||
           (address >= STACK_BASE && address < STACK_BASE + MAX_WORKERS * WORKER_STACKS);
}

static void report_host_access(const void* address, void* const* frames, int n) {
    char where[300];
    cudev_describe_address(where, sizeof where, address);
    bool symbol = cudev_is_symbol(address), device = symbol || is_of_device(address);
    cudev_report_begin("host_access", "host code touches %s%s",
                       symbol   ? "a variable of the device"
                       : device ? "device memory: "
                                : "memory that is not its own: ",
                       symbol ? "" : where);
    cudev_report_frames(frames, n);
    cudev_report_add(
        symbol   ? "  next: copy with cudaMemcpyToSymbol or cudaMemcpyFromSymbol\n"
        : device ? "  next: copy with cudaMemcpy; only kernels may follow a device pointer\n"
                 : "  next: print the address and the index at that line; where should "
                   "they point?\n");
    cudev_report_end(EXIT_DIAGNOSIS);
}

void cudev_report_host_access(const void* address) {
    void* frames[MAX_FRAMES];
    int n = cudev_unwind(frames, MAX_FRAMES);
    report_host_access(address, frames, n);
}

const char* cudev_copying;

// The stack of host code, which grows down from `top`: the process's, of which `top` is about that,
// or what cudev_host_stack() says.
struct host_stack {
    uintptr_t top;
    size_t bytes;
};
static struct host_stack of_process, of_program;

void cudev_host_stack(const void* top, size_t bytes) {
    of_program = (struct host_stack){(uintptr_t)top, bytes};
}

// How many bytes the stack of host code has, if it has used up nearly all of them; else 0.
static size_t full_host_stack(const void* context) {
    const ucontext_t* there = context;
    const struct host_stack stack = of_program.top ? of_program : of_process;
#ifdef __x86_64__
    const uintptr_t end = (uintptr_t)there->uc_mcontext.gregs[REG_RSP];
#else
    const uintptr_t end = (uintptr_t)there->uc_mcontext.sp;
#endif
    // an eighth is for what lies above of_process.top
    return end < stack.top && stack.top - end > stack.bytes / 8 * 7 ? stack.bytes : 0;
}

static void report_host_overflow(size_t bytes, void* const* frames, int n) {
    cudev_report_begin("stack_overflow",
                       "stack overflow in host code: more than %zu KB of local variables",
                       bytes >> 10);
    cudev_report_frames(frames, n);
    cudev_report_add("  next: is there a large local array, or a function that calls itself? use "
                     "malloc, or a loop\n");
    cudev_report_end(EXIT_DIAGNOSIS);
}

// A fault of the host that has nothing to do with the device.
static void report_host_fault(const void* address, void* const* frames, int n, int signal) {
    if (cudev_copying)
        cudev_report_begin("out_of_bounds", "%s reads or writes past the end of the host's array",
                           cudev_copying);
    else if (signal == SIGFPE)
        cudev_report_begin("crash", "integer division by zero in host code");
    else
        cudev_report_begin("crash", "segmentation fault: host code uses %#lx, which is no memory",
                           (unsigned long)(uintptr_t)address);
    cudev_report_frames(frames, n);
    cudev_report_add(cudev_copying
                         ? "  next: how many bytes? n * sizeof(float); sizeof of a pointer is 8\n"
                     : signal == SIGFPE ? "  next: which divisor at that line can be 0?\n"
                                        : "  next: is the pointer set, and the index in range?\n");
    cudev_report_end(EXIT_DIAGNOSIS);
}

// For a debugger to stop at.
__attribute__((noinline)) void cudev_unexplained_fault(void) {
    __asm__ volatile("");
}

static void on_fault(int number, siginfo_t* info, void* context) {
    void* frames[MAX_FRAMES];
    int n = cudev_unwind(frames, MAX_FRAMES);
    if (cudev_self && cudev_self->launch && at_aligned_move(info, context))
        report_misaligned(cudev_self, frames, n);
    if (cudev_self && cudev_self->launch)
        report_kernel_fault(cudev_self, info->si_addr, frames, n, number);
    if (number != SIGFPE && (is_of_device(info->si_addr) || cudev_is_symbol(info->si_addr)))
        report_host_access(info->si_addr, frames, n);
    cudev_unexplained_fault();
    const size_t full = full_host_stack(context);
    if (full) report_host_overflow(full, frames, n);
    report_host_fault(info->si_addr, frames, n, number);
}

static void on_ask(int number) {
    (void)number;
    struct worker* w = cudev_self;
    if (!w) return;
    w->asked_x = cudev_current(w) - w->row;
    int n = cudev_unwind(w->call_stack->frames, MAX_FRAMES);
    atomic_store(&w->call_stack->count, n);
    for (;;) pause();  // the process is about to end
}

// The handlers of this thread have a stack of their own: its own may be full.
static void take_handler_stack(void) {
    stack_t stack = {.ss_size = HANDLER_STACK};
    stack.ss_sp =
        mmap(NULL, HANDLER_STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (stack.ss_sp != MAP_FAILED) sigaltstack(&stack, NULL);
}

void cudev_faults_init(void) {
    struct sigaction action;
    struct rlimit limit;
    of_process = (struct host_stack){(uintptr_t)__builtin_frame_address(0), SIZE_MAX};
    if (getrlimit(RLIMIT_STACK, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY)
        of_process.bytes = limit.rlim_cur;
    take_handler_stack();
    memset(&action, 0, sizeof action);
    action.sa_sigaction = on_fault;
    action.sa_flags = SA_SIGINFO | SA_ONSTACK;
    sigemptyset(&action.sa_mask);
    sigaction(SIGSEGV, &action, NULL);
    sigaction(SIGBUS, &action, NULL);
    sigaction(SIGFPE, &action, NULL);
    action.sa_handler = on_ask;
    action.sa_flags = SA_ONSTACK;
    sigaction(ASK_SIGNAL, &action, NULL);
}

void cudev_faults_thread(struct worker* w) {
    w->call_stack = cudev_worker_memory(sizeof *w->call_stack);
    take_handler_stack();
}

const struct call_stack* cudev_ask_where(struct worker* w) {
    atomic_store(&w->call_stack->count, -1);
    pthread_kill(w->os_thread, ASK_SIGNAL);
    const struct timespec pause = {0, 1000000};
    // A thread that cannot answer is rare; on a busy machine it takes a while.
    for (int ms = 0; ms < 10000 && atomic_load(&w->call_stack->count) < 0; ms++)
        nanosleep(&pause, NULL);
    return w->call_stack;
}
