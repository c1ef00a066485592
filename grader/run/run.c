// run.c: the student's side of the wall: one case, from the arena to the launcher and back.
//
// This program runs in one process with the student's code. The grader decides elsewhere whether
// its output bytes are right. The program writes findings, counters and statuses itself, into the
// vault. The same source serves the CPU device and a GPU: it speaks the CUDA runtime API.
#include "run/run.h"

#include <cuda_runtime_api.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cpu/include/cudev.h"
#include "run/gate.h"
#include "run/handed.h"
#include "run/host.h"
#include "run/meter.h"
#include "run/origin.h"
#include "run/products.h"
#include "run/traffic.h"
#include "run/vault.h"
#include "wall/arena.h"

static unsigned char* arena;
static const struct arena_layout* layout;     // closed as the vault is
static struct arena_answer* answer;           // in the vault
static unsigned char* device[ARENA_TENSORS];  // where the allocation begins; NULL for host tensors
static unsigned char*
    left[ARENA_TENSORS];                   // where it began in the first calls; NULL: it still does
static unsigned char* far[ARENA_TENSORS];  // what the launcher gets of an array that is far
static char names[ARENA_TENSORS][ARENA_NAME];  // for the watchers, which read them in a kernel
static uint32_t round_now;
// Bytes before and after a tensor on the device. None in the checked build: there the device itself
// knows where an array ends, and must not take our guard bands for the array.
static size_t guard = ARENA_GUARD;

static _Noreturn void give_up(const char* kind, const char* text) {
    vault_open();
    snprintf(answer->kind, sizeof answer->kind, "%s", kind);
    snprintf(answer->text, sizeof answer->text, "%s", text);
    fprintf(stderr, "%s\n", text);
    exit(1);
}

// Findings that the instrumented build reports while it runs on.
void cudev_on_finding(const char* kind, unsigned line, const char* text,
                      const struct finding_values* values) {
    (void)kind, (void)line;  // the values say both
    if (!answer) return;
    vault_open();
    size_t used = strlen(answer->finding_text);
    if (answer->findings < FINDINGS) answer->finding[answer->findings] = *values;
    answer->findings++;
    snprintf(answer->finding_text + used, sizeof answer->finding_text - used, "%s", text);
    vault_close();
}

// The device notes something beside them: at most once.
void cudev_on_note(const char* kind, unsigned line, const char* text) {
    if (!answer) return;
    vault_open();
    snprintf(answer->note_kind, sizeof answer->note_kind, "%s", kind);
    answer->note_line = line;
    snprintf(answer->note_text, sizeof answer->note_text, "%s", text);
    vault_close();
}

// The CPU device calls it when it refuses a call or a launch.
void cudev_on_refusal(const char* call, int error, const char* line) {
    if (!answer) return;
    vault_open();
    size_t used = strlen(answer->refused_text);
    answer->refused_launches += strcmp(call, "launch") == 0;
    answer->refused_moves += strncmp(call, "cudaMem", strlen("cudaMem")) == 0;
    answer->refused_devices += error == cudaErrorInvalidDevice;
    if (!strstr(answer->refused_text, line))
        snprintf(answer->refused_text + used, sizeof answer->refused_text - used, "%s", line);
    vault_close();
}

// The CPU device calls it when it has diagnosed something (grader/cpu/README.md): the kind and the
// whole report travel to the grader beside the results.
void cudev_on_error(const char* kind, unsigned line, const char* text) {
    if (!answer) return;
    vault_open();
    snprintf(answer->kind, sizeof answer->kind, "%s", kind);
    answer->line = line;
    snprintf(answer->text, sizeof answer->text, "%s", text);
}

static void must(cudaError_t error, const char* what) {
    char text[1024];
    if (error == cudaSuccess) return;
#ifdef CPU_DEVICE
    const char* failure = cudev_last_failure(error);
    if (*failure) {
        snprintf(text, sizeof text, "%s: %s", what, failure);
        give_up("cuda_error", text);
    }
#endif
    snprintf(text, sizeof text, "%s: %s (%s)", what, cudaGetErrorString(error),
             cudaGetErrorName(error));
    give_up("cuda_error", text);
}

// ---- what call.c asks for. The vault is closed then, and so is the layout, which says what this
// run is for.

static void open_layout(void) {
    vault_open_pages(layout, sizeof *layout);
}

static void close_layout(void) {
    vault_close_pages(layout, sizeof *layout);
}

static int find_tensor(const char* name) {
    for (uint32_t i = 0; i < layout->tensor_count; i++)
        if (strcmp(layout->tensor[i].name, name) == 0) return (int)i;
    fprintf(stderr, "call.c asks for a tensor %s that check.c does not declare\n", name);
    exit(2);
}

static const struct arena_scalar* find_scalar(const char* name) {
    for (uint32_t i = 0; i < layout->scalar_count; i++)
        if (strcmp(layout->scalar[i].name, name) == 0) return &layout->scalar[i];
    fprintf(stderr, "call.c asks for a scalar %s that check.c does not declare\n", name);
    exit(2);
}

// The tensor that the launcher gets under this name.
static uint32_t passed(const char* name) {
    const uint32_t i = (uint32_t)find_tensor(name), same = layout->tensor[i].same;
    return same ? same - 1 : i;
}

// The first element of a tensor on the device.
static unsigned char* data(uint32_t i) {
    return device[i] + layout->tensor[i].later + guard;
}

static int is_null(const struct arena_tensor* t) {
    return t->role == ARENA_NULL || t->nulls >> round_now & 1;
}

static size_t shift(const struct arena_tensor* t) {
    return t->shifts >> round_now & 1 ? t->element : 0;
}

void* run_gpu(const char* name) {
    open_layout();
    const uint32_t i = passed(name);
    const struct arena_tensor* t = &layout->tensor[i];
    unsigned char* first = NULL;
    if (!is_null(t)) first = (far[i] ? far[i] + t->later : data(i)) + shift(t);
    close_layout();
    return first;
}

void* run_cpu(const char* name) {
    open_layout();
    const struct arena_tensor* t = &layout->tensor[passed(name)];
    unsigned char* first = NULL;
    if (!is_null(t)) first = arena + t->offset[round_now] - arena_before(t) + shift(t);
    close_layout();
    return first;
}

int64_t run_int(const char* name) {
    open_layout();
    const int64_t value = find_scalar(name)->integer[round_now];
    close_layout();
    return value;
}

double run_real(const char* name) {
    open_layout();
    const double value = find_scalar(name)->real[round_now];
    close_layout();
    return value;
}

struct strides run_strides(const char* array) {
    int64_t step[3];
    for (int axis = 0; axis < 3; axis++) {
        char name[ARENA_NAME];
        snprintf(name, sizeof name, "stride_%s.%c", array, "bnh"[axis]);
        step[axis] = run_int(name);
    }
    return (struct strides){.b = step[0], .n = step[1], .h = step[2]};
}

int run_widths(int (*call_with)(int64_t cols)) {
    const int64_t widest = run_int("cols"), step = run_int("step");
    int status = 0;
    for (int64_t cols = widest - run_int("narrower"); cols <= widest && status == 0; cols += step)
        status = call_with(cols);
    return status;
}

// ---- what the instrumented build counts. The references are weak: a plain program must not link
// the watchers, and on a GPU there are none.

#pragma weak cudev_reset_traffic
#pragma weak cudev_write_profile
#pragma weak cudev_set_read_only
#pragma weak cudev_set_results

// ---- one case

// A part of the arena's head that is often opened and closed alone: a mapping of its own, which the
// system need not cut out of a larger one.
static void* map_again(int fd, size_t offset, size_t bytes) {
    void* pages = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, (off_t)offset);
    if (pages == MAP_FAILED) exit(2);
    return pages;
}

static void map_arena(const char* path) {
    int fd = path ? open(path, O_RDWR) : ARENA_FD;
    struct stat st;
    if (fd < 0 || fstat(fd, &st) != 0 || (size_t)st.st_size < sizeof(struct arena_head)) {
        fprintf(stderr, "this program is started by the grader (make grade, make debug)\n");
        exit(2);
    }
    arena = mmap(NULL, (size_t)st.st_size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (arena == MAP_FAILED) exit(2);
    struct arena_head* head = (struct arena_head*)arena;
    layout = map_again(fd, 0, sizeof head->layout);
    if (head->products.key)
        products_start(map_again(fd, offsetof(struct arena_head, products), sizeof head->products));
    for (int i = 0; i < ARENA_TENSORS; i++) memcpy(names[i], layout->tensor[i].name, ARENA_NAME);
    close(fd);
    answer = &head->answer;
    vault_add(arena, sizeof *head);
    size_t seconds = (size_t)st.st_size - layout->seconds;
    if (seconds) vault_add(arena + layout->seconds, seconds);
    if (layout->magic != ARENA_MAGIC || layout->version != ARENA_VERSION) {
        fprintf(stderr, "the arena is of another version; run make again\n");
        exit(2);
    }
    answer->started = 1;
}

static size_t with_guards(const struct arena_tensor* t) {
    return t->bytes + 2 * guard;
}

// Makes room for an array whose rows are far apart. Its rows have no guard bands: nothing lies
// between them. Such a case runs on the CPU device alone.
static void make_far(uint32_t i) {
#ifdef CPU_DEVICE
    const struct arena_tensor* t = &layout->tensor[i];
    const struct arena_far* f = &t->far;
    const size_t pitch = arena_far_pitch(f), bytes = pitch * arena_far_rows(f);
    const size_t count[] = {f->count[0], f->count[1], f->count[2]};
    must(cudaMalloc((void**)&device[i], bytes + ARENA_GUARD), "making room for the case");
    device[i] += (ARENA_GUARD - (uintptr_t)device[i] % ARENA_GUARD) % ARENA_GUARD;
    far[i] = cudev_spread(device[i], count, t->later + f->row_bytes, pitch, arena_far_unit(f));
    cudev_name_allocation(device[i], bytes, names[i]);
#endif
    if (!far[i]) give_up("unsupported", "rows so far apart do not fit into the address space");
}

static void copy_far(uint32_t i, unsigned char* here, enum cudaMemcpyKind direction) {
    const struct arena_far* f = &layout->tensor[i].far;
    const size_t pitch = arena_far_pitch(f), rows = arena_far_rows(f), row = f->row_bytes;
    unsigned char* first = device[i] + layout->tensor[i].later;
    if (direction == cudaMemcpyHostToDevice)
        must(cudaMemcpy2D(first, pitch, here, row, row, rows, direction), "copying the inputs");
    else
        must(cudaMemcpy2D(here, row, first, pitch, row, rows, direction), "after the launcher");
}

// The same for an array of which the case has the ends of rows alone.
static void make_ends(uint32_t i) {
#ifdef CPU_DEVICE
    const struct arena_tensor* t = &layout->tensor[i];
    const size_t bytes = t->ends * t->pitch;
    cudev_run_few(CUDEV_ALL_BLOCKS, 1);  // so the memory is taken where it is used
    must(cudaMalloc((void**)&far[i], bytes), "making room for the case");
    // The rest of an array, which the case does not have, is 0, be the array large or small: a mask
    // or a list there makes no work.
    if (!cudev_only_ends(bytes)) must(cudaMemset(far[i], 0, bytes), "clearing what is not shown");
    cudev_run_few(CUDEV_ALL_BLOCKS, 0);
    device[i] = far[i] + arena_before(t);
    cudev_name_allocation(far[i], bytes, names[i]);
#endif
    if (!far[i]) give_up("unsupported", "an array so large does not fit into the address space");
}

static void copy_ends(uint32_t i, unsigned char* here, enum cudaMemcpyKind direction) {
    const struct arena_tensor* t = &layout->tensor[i];
    const size_t end = t->bytes / t->ends;
    if (direction == cudaMemcpyHostToDevice)
        must(cudaMemcpy2D(device[i], t->pitch, here, end, end, t->ends, direction),
             "copying the inputs");
    else
        must(cudaMemcpy2D(here, end, device[i], t->pitch, end, t->ends, direction),
             "after the launcher");
}

// The same for an input of whose rows the ends stay as the allocation made them.
static void copy_read(uint32_t i, unsigned char* here, enum cudaMemcpyKind direction) {
    const struct arena_tensor* t = &layout->tensor[i];
    const bool back = direction == cudaMemcpyDeviceToHost;
    const size_t skip[] = {0, guard + t->bytes};  // where the guard bands are
    unsigned char* from = back ? data(i) - guard : here - guard;
    unsigned char* to = back ? here - guard : data(i) - guard;
    for (int band = 0; band < 2; band++)
        must(cudaMemcpy(to + skip[band], from + skip[band], guard, direction), "copying an input");
    must(cudaMemcpy2D(to + guard, t->row, from + guard, t->row, t->read, t->bytes / t->row,
                      direction),
         "copying an input");
}

static void copy_tensors(uint32_t r, enum cudaMemcpyKind direction) {
    for (uint32_t i = 0; i < layout->tensor_count; i++) {
        const struct arena_tensor* t = &layout->tensor[i];
        if (!device[i]) continue;
        unsigned char *here = arena + t->offset[r] - guard, *on_device = data(i) - guard;
        if (t->ends)
            copy_ends(i, arena + t->offset[r], direction);
        else if (far[i])
            copy_far(i, arena + t->offset[r], direction);
        else if (t->row)
            copy_read(i, arena + t->offset[r], direction);
        else if (direction == cudaMemcpyHostToDevice)
            must(cudaMemcpy(on_device, here, with_guards(t), direction), "copying the inputs");
        else
            must(cudaMemcpy(here, on_device, with_guards(t), direction), "after the launcher");
    }
}

// The tensors in the arena. The student's code sees them only if the launcher gets host pointers.
static void open_tensors(bool open) {
    // they begin with the page behind the head
    size_t head = (sizeof(struct arena_head) + VAULT_PAGE - 1) / VAULT_PAGE * VAULT_PAGE;
    size_t bytes = layout->seconds - head;
    bool on_host = false;
    for (uint32_t i = 0; i < layout->tensor_count; i++) on_host |= layout->tensor[i].on_host;
    if (!on_host && bytes) mprotect(arena + head, bytes, open ? PROT_READ | PROT_WRITE : PROT_NONE);
    if (!open) gate_start(arena + head, on_host ? bytes : 0);
}

static void start_origin(uint32_t r) {
    unsigned char* first[ARENA_TENSORS];
    for (uint32_t i = 0; i < layout->tensor_count; i++)
        first[i] = device[i] && !far[i] ? data(i) : NULL;
    vault_open();
    const struct arena_layout* kept = &((const struct arena_head*)arena)->layout;
    origin_start(kept, arena, r, first);
    handed_start(kept, arena, r);
    vault_close();
}

static size_t bytes_on_device(uint32_t i) {
    const struct arena_tensor* t = &layout->tensor[i];
    if (t->ends) return t->ends * t->pitch - arena_before(t);
    return far[i] ? arena_far_pitch(&t->far) * arena_far_rows(&t->far) : with_guards(t);
}

// While the launcher runs, nobody writes to an input, not even to restore it.
static void close_inputs(bool closed) {
    if (!cudev_set_read_only) return;
    for (uint32_t i = 0; i < layout->tensor_count; i++)
        if (device[i] && layout->tensor[i].role == ARENA_INPUT)
            cudev_set_read_only(far[i] ? device[i] : data(i) - guard, bytes_on_device(i), closed);
}

static void name_results(void) {
    if (!cudev_set_results) return;
    struct cudev_array result[ARENA_TENSORS];
    unsigned count = 0;
    for (uint32_t i = 0; i < layout->tensor_count; i++) {
        const struct arena_tensor* t = &layout->tensor[i];
        if (!device[i] || t->beside || !(arena_is_written(t->role) || t->role == ARENA_WORKSPACE))
            continue;
        result[count++] =
            (struct cudev_array){far[i] ? device[i] : data(i) - guard, bytes_on_device(i)};
    }
    cudev_set_results(result, count);
}

static void make_room(void) {
    for (uint32_t i = 0; i < layout->tensor_count; i++) {
        const struct arena_tensor* t = &layout->tensor[i];
        if (t->role == ARENA_NULL || t->on_host) continue;
        if (t->far.row_bytes || t->ends) {
            (t->ends ? make_ends : make_far)(i);
            continue;
        }
        must(cudaMalloc((void**)&device[i], t->later + with_guards(t)), "making room for the case");
#ifdef CPU_DEVICE
        cudev_name_allocation(data(i), t->bytes, names[i]);
#endif
    }
}

enum { GONE = 0xff };  // a NaN in all types

// All arrays get other addresses. The contents of the old ones are gone: a launcher that has kept a
// pointer reads NaN.
static void move(void) {
    memcpy(left, device, sizeof left);
    make_room();
    for (uint32_t i = 0; i < layout->tensor_count; i++) {
        const struct arena_tensor* t = &layout->tensor[i];
        if (left[i])
            must(cudaMemset(left[i], GONE, t->later + with_guards(t)), "moving the arrays");
    }
}

// And nobody writes there.
static void check_left(void) {
    for (uint32_t i = 0; i < layout->tensor_count; i++) {
        const struct arena_tensor* t = &layout->tensor[i];
        const size_t bytes = t->later + with_guards(t);
        unsigned char* now = left[i] ? malloc(bytes) : NULL;
        char text[160];
        if (!now) continue;
        must(cudaMemcpy(now, left[i], bytes, cudaMemcpyDeviceToHost), "after the launcher");
        snprintf(text, sizeof text, "a kernel wrote where %s was in an earlier call", t->name);
        for (size_t k = 0; k < bytes; k++)
            if (now[k] != GONE) give_up("bad_address", text);
        free(now);
    }
}

// Between calls of the launcher the vault and the device's memory stay open to the runner.
static void hold(bool held) {
    if (held) open_layout();
    (held ? vault_hold : vault_release)();
    if (!held) close_layout();
#ifdef CPU_DEVICE
    cudev_hold_open(held);
#endif
}

#ifdef CPU_DEVICE
// For `make debug` (make/debug.gdb): the debugger stops here, and then where the element is stored.
__attribute__((noinline)) void run_debug_element(void* element, int bytes) {
    __asm__ volatile("" ::"r"(element), "r"(bytes));
}

static void show_element(uint32_t round) {
    const char* wanted = getenv("DEBUG_ELEMENT");
    char name[ARENA_NAME];
    unsigned call;
    unsigned long long byte;
    int bytes;
    if (!wanted || sscanf(wanted, "%23s %u %llu %d", name, &call, &byte, &bytes) != 4) return;
    const struct arena_tensor* t = &layout->tensor[find_tensor(name)];
    if (call == round)
        run_debug_element((unsigned char*)(t->on_host ? run_cpu : run_gpu)(name) + byte, bytes);
}
#endif

// Which call of this round shall fail.
static int fail_at(uint32_t r) {
    if (layout->fail_at == 0 || strcmp(layout->fail_call, "query") != 0)
        return r == 0 ? layout->fail_at : 0;
    const bool is_last = layout->rounds > 1 && r + 1 == layout->rounds;
    return is_last ? 0 : layout->fail_at + (int)r;
}

#ifdef CPU_DEVICE
static void note_meetings(uint32_t r, const struct cudev_meetings* before) {
    const struct cudev_meetings now = cudev_meetings();
    answer->met[r] = (struct arena_meetings){
        .barriers = (int64_t)(now.barriers - before->barriers),
        .words = (int64_t)(now.words - before->words),
        .matrices = (int64_t)(now.matrices - before->matrices),
        .products = (int64_t)(now.products - before->products),
        .copies = (int64_t)(now.copies - before->copies),
    };
}
#endif

static void run_round(uint32_t r) {
    round_now = r;
    if (arena_is_elsewhere(r) && !arena_is_elsewhere(r - 1)) move();
    copy_tensors(r, cudaMemcpyHostToDevice);
    must(cudaDeviceSynchronize(), "copying the inputs");
    start_origin(r);
    open_tensors(false);
    if (cudev_reset_traffic) cudev_reset_traffic();
    name_results();
#ifdef CPU_DEVICE
    const int blocks[] = {[ARENA_FEW] = CUDEV_FEW_BLOCKS,
                          [ARENA_LAST] = CUDEV_LAST_BLOCK,
                          [ARENA_MIXED] = CUDEV_MIXED_BLOCKS,
                          [ARENA_CROWDED] = CUDEV_CROWDED_BLOCKS,
                          [ARENA_FEW_OF_MANY] = CUDEV_FEW_OF_MANY,
                          [ARENA_IN_TURN] = CUDEV_ALL_BLOCKS,
                          [ARENA_ONE] = CUDEV_ONE_BLOCK};
    if (layout->few_blocks == ARENA_CROWDED) setenv("CUDEV_WORKERS", "8", 1);
    if (layout->few_blocks == ARENA_IN_TURN) setenv("CUDEV_WORKERS", "1", 1);
    cudev_choose_block(layout->one_block);
    cudev_run_few(blocks[layout->few_blocks], (int)layout->few_bytes);
    // A second call that is tried alone begins there, too.
    if (r == 1 || layout->rounds == 1) cudev_next_device();
#endif
    int device_before = 0, device_after = 0;
    must(cudaGetDevice(&device_before), "asking for the device");
    meter_start(layout->fail_call, fail_at(r));
    close_inputs(true);
#ifdef CPU_DEVICE
    show_element(r);
    const struct cudev_meetings before = cudev_meetings();
#endif
    hold(false);
    int status = host_call(call);
    hold(true);
    close_inputs(false);
    struct meter meter = meter_stop();
    bool error_left = cudaPeekAtLastError() != cudaSuccess;
    // The error of a refused call is not the next call's. If a launch was to fail, it is.
    if (status != 0 && layout->fail_at == 0) cudaGetLastError();
    must(cudaGetDevice(&device_after), "asking for the device");
    if (device_after != device_before)
        give_up("other_device", "another device is current after the launcher than before it");
    open_tensors(true);
    must(cudaDeviceSynchronize(), "in the kernel");
#ifdef CPU_DEVICE
    cudev_run_few(CUDEV_ALL_BLOCKS, 0);
#endif
    if (status == 0 && layout->few_blocks && cudaGetLastError() != cudaSuccess)
        give_up("bad_launch", "the launcher returned COURSE_OK, but a launch was refused");
    if (status == 0 && layout->fail_at == 0) must(cudaGetLastError(), "after the launcher");
    copy_tensors(r, cudaMemcpyDeviceToHost);
    check_left();
    vault_open();
    origin_stop();
#ifdef CPU_DEVICE
    note_meetings(r, &before);
#endif
    answer->traffic[r] = run_traffic(device, layout->tensor_count);
    answer->traffic[r].allocated_bytes = meter.allocated;
    answer->traffic[r].copied_bytes = meter.copied;
    answer->traffic[r].filled_bytes = meter.filled;
    answer->traffic[r].to_device_bytes = meter.to_device;
    answer->leaked[r] = meter.leaked;
    answer->mapped[r] = meter.mapped;
    answer->launches[r] = meter.launches;
    answer->elsewhere[r] = meter.elsewhere;
    answer->waits[r] = meter.waits;
    answer->blocks[r] = meter.blocks;
    answer->largest_grid[r] = meter.largest_grid;
    answer->grid_y[r] = meter.grid_y;
    answer->grid_z[r] = meter.grid_z;
    answer->failed[r] = meter.failed;
    answer->asked_elsewhere[r] = meter.asked_elsewhere;
    answer->error_left[r] = error_left;
    answer->to_host[r] = meter.to_host;
    answer->own[r] = meter.own;
    answer->sent[r] = meter.sent;
    answer->back[r] = meter.back;
    answer->on_device[r] = meter.on_device;
    answer->status[r] = status;
    answer->rounds_done = r + 1;
    vault_close();
}

int main(int argc, char** argv) {
    char* watch = getenv("CUDEV_WATCH");
    if (watch && strstr(watch, "check")) guard = 0;
    // The watcher has read it. Nobody else shall find out which of the two programs runs.
    if (watch) memset(watch, ' ', strlen(watch));
    map_arena(argc > 1 ? argv[1] : NULL);
    // what a kernel prints stays in no buffer for the host to read
    setvbuf(stdout, NULL, _IONBF, 0);
    hold(true);
#ifdef CPU_DEVICE
    cudev_alter_wgmma_alone((int)layout->by_wgmma);
#endif
    make_room();
    for (uint32_t r = 0; r < layout->rounds; r++) run_round(r);
    const char* format = getenv("RUN_PROFILE");
    if (!format || !cudev_write_profile) return 0;
    setvbuf(stdout, NULL, _IOFBF, BUFSIZ);
    cudev_write_profile(stdout, format);
    return 0;
}
