// The names of arrays and their elements. An array has the name of its __shared__ declaration, or
// of the kernel parameter that points into its allocation.
#include "cpu/watch/array_names.h"
#include <elf.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include "cpu/device/allocations.h"
#include "cpu/device/shared_memory.h"
#include "cpu/watch/shadow.h"

// ---- names of __device__ and __constant__ variables, from the program's symbol table ------------

struct variable {
    char name[80];
    uintptr_t begin;  // address
    size_t bytes;
};

// Finds the variable around `address`; fills in its name and size in bytes. `elf`: the whole file.
static bool find_variable(const char* elf, size_t size, uintptr_t address, struct variable* out) {
    const Elf64_Ehdr* head = (const Elf64_Ehdr*)elf;
    if (size < sizeof *head || memcmp(head->e_ident, ELFMAG, SELFMAG) != 0) return false;
    if (head->e_shoff > size || (size - head->e_shoff) / sizeof(Elf64_Shdr) < head->e_shnum)
        return false;
    const Elf64_Shdr* section = (const Elf64_Shdr*)(elf + head->e_shoff);
    for (unsigned i = 0; i < head->e_shnum; i++) {
        if (section[i].sh_type != SHT_SYMTAB || section[i].sh_link >= head->e_shnum) continue;
        const Elf64_Shdr* strings = &section[section[i].sh_link];
        if (section[i].sh_offset + section[i].sh_size > size ||
            strings->sh_offset + strings->sh_size > size)
            return false;
        const Elf64_Sym* symbol = (const Elf64_Sym*)(elf + section[i].sh_offset);
        for (size_t j = 0; j < section[i].sh_size / sizeof *symbol; j++) {
            if (ELF64_ST_TYPE(symbol[j].st_info) != STT_OBJECT ||
                address - symbol[j].st_value >= symbol[j].st_size ||
                symbol[j].st_name >= strings->sh_size)
                continue;
            const char* name = elf + strings->sh_offset + symbol[j].st_name;
            // _ZL4hits: static int hits; names in namespaces stay as the linker knows them
            unsigned length;
            int digits = 0;
            if (sscanf(name, "_ZL%u%n", &length, &digits) == 1 && strlen(name + digits) == length)
                name += digits;
            snprintf(out->name, sizeof out->name, "%s", name);
            out->begin = symbol[j].st_value;
            out->bytes = symbol[j].st_size;
            return true;
        }
    }
    return false;
}

// The variable around the address; false if there is none.
static bool variable_at(const void* address, struct variable* out) {
    int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
    struct stat st;
    if (fd < 0) return false;
    bool found = false;
    if (fstat(fd, &st) == 0 && st.st_size > 0) {
        void* elf = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
        if (elf != MAP_FAILED) {
            found = find_variable(elf, (size_t)st.st_size, (uintptr_t)address, out);
            munmap(elf, (size_t)st.st_size);
        }
    }
    close(fd);
    return found;
}

// ---- pointers that the next launch gets --------------------------------------------------------

enum { MAX_ARGUMENTS = 32 };
static struct {
    int index;
    const char* p;
    size_t bytes;
} arguments[MAX_ARGUMENTS];
static int argument_count;

void cudev_names_argument(const struct cudev_launch_site* site, int index, const void* p,
                          size_t bytes) {
    static const struct cudev_launch_site* last;
    if (site != last || (argument_count && arguments[argument_count - 1].index >= index))
        argument_count = 0;
    last = site;
    if (argument_count == MAX_ARGUMENTS || !p) return;
    arguments[argument_count].index = index;
    arguments[argument_count].p = p;
    arguments[argument_count++].bytes = bytes;
}

// Parameter number `index` of the list "C,A,B"; false if it has no name there.
static bool parameter_name(const char* list, int index, char* name, size_t size) {
    for (; list && index > 0; index--) {
        list = strchr(list, ',');
        if (list) list++;
    }
    size_t length = list ? strcspn(list, ",") : 0;
    snprintf(name, size, "%.*s", (int)length, list ? list : "");
    return length > 0;
}

// ---- elements ----------------------------------------------------------------------------------

// "[3][17]" for a byte of an array; `bytes` is the size of the access.
static void add_index(char* text, size_t size, const unsigned* extent, size_t element,
                      long long byte) {
    size_t used = strlen(text);
    long long index = byte >= 0 ? byte / (long long)element
                                : -((-byte + (long long)element - 1) / (long long)element);
    long long rest = byte - index * (long long)element;
    int rank = 0;
    while (rank < 4 && extent && extent[rank]) rank++;
    long long inner = 1;
    for (int i = 1; i < rank; i++) inner *= extent[i];
    for (int i = 0; i < rank || i == 0; i++) {
        long long here = index / inner;
        if (index < 0 && i == 0) here = -((-index + inner - 1) / inner);
        index -= here * inner;
        if (extent || element) used += (size_t)snprintf(text + used, size - used, "[%lld]", here);
        if (i + 1 < rank) inner /= extent[i + 1];
        if (used >= size) return;
    }
    if (rest) snprintf(text + used, size - used, " (byte %lld of it)", rest);
}

static void add_extent(char* text, size_t size, const unsigned* extent, size_t elements,
                       size_t element) {
    size_t used = strlen(text);
    if (!extent || !extent[0]) used += (size_t)snprintf(text + used, size - used, "%zu", elements);
    for (int i = 0; extent && i < 4 && extent[i] && used < size; i++)
        used += (size_t)snprintf(text + used, size - used, "%s%u", i ? " x " : "", extent[i]);
    if (used < size)
        snprintf(text + used, size - used, " element%s of %zu byte%s",
                 elements == 1 && (!extent || !extent[1]) ? "" : "s", element,
                 element == 1 ? "" : "s");
}

// ---- shared memory -----------------------------------------------------------------------------

// An address far behind an array belongs to the array before it.
static void name_shared(struct array_name* n, const struct worker* w, uint64_t offset,
                        size_t bytes) {
    const char* p = ARENA_BASE + offset;
    const struct cudev_shared_array* a = NULL;
    const struct shared_memory* m = cudev_shared_around(w, p);
    const char* data = m->window;
    for (unsigned i = 0; i < m->declared_count; i++) {
        const char* d = m->place[cudev_shared_id(m->declared[i])].data;
        if (d > p) continue;
        a = m->declared[i];
        data = d;
    }
    if (!a) {
        const struct cudev_launch_site* s = &w->launch->site;
        const struct cudev_shared_array* d = m->dynamic;
        size_t element = d && d->element ? d->element : bytes;
        snprintf(n->name, sizeof n->name, "%s", d && d->name ? d->name : "dynamic shared memory");
        snprintf(n->element, sizeof n->element, "%s", n->name);
        unsigned extent[4] = {0, 0, 0, 0};
        if (d && d->extent[1]) {  // extern __shared__ float s[][16]
            memcpy(extent, d->extent, sizeof extent);
            extent[0] = 1;
        }
        add_index(n->element, sizeof n->element, extent[0] ? extent : NULL, element, p - data);
        snprintf(n->origin, sizeof n->origin,
                 "%s: dynamic shared memory, %zu bytes (%zu elements of %zu) given at the launch",
                 n->name, s->shared_bytes, s->shared_bytes / element, element);
        n->dynamic = true;
        n->begin = (uint64_t)(data - ARENA_BASE);
        n->end = n->begin + s->shared_bytes;
        n->id = 1;
        return;
    }
    snprintf(n->name, sizeof n->name, "%s", a->name);
    snprintf(n->element, sizeof n->element, "%s", a->name);
    if (a->extent[0] || p - data >= (ptrdiff_t)a->bytes)
        add_index(n->element, sizeof n->element, a->extent, a->element, p - data);
    snprintf(n->origin, sizeof n->origin, "%s: __shared__, ", a->name);
    add_extent(n->origin, sizeof n->origin, a->extent, a->bytes / a->element, a->element);
    size_t used = strlen(n->origin);
    snprintf(n->origin + used, sizeof n->origin - used, ", %s:%d", a->file, a->line);
    n->begin = (uint64_t)(data - ARENA_BASE);
    n->end = n->begin + a->bytes;
    n->id = 1 + cudev_shared_id(a);
}

void cudev_name_member(struct array_name* n, const struct worker* w, uint64_t offset) {
    const struct cudev_member* m = w ? cudev_member_at(w, ARENA_BASE + offset) : NULL;
    if (!n->dynamic || !m) return;
    char over[sizeof n->name];
    snprintf(over, sizeof over, "%s", n->name);
    snprintf(n->name, sizeof n->name, "%s", m->name);
    snprintf(n->element, sizeof n->element, "%s", m->name);
    if (m->extent[0])
        add_index(n->element, sizeof n->element, m->extent, m->element,
                  (long long)(offset - n->begin - m->begin));
    snprintf(n->origin, sizeof n->origin, "%s: ", m->name);
    add_extent(n->origin, sizeof n->origin, m->extent, m->bytes / m->element, m->element);
    const size_t used = strlen(n->origin);
    snprintf(n->origin + used, sizeof n->origin - used,
             ", of a structure over %.40s, dynamic shared memory, from byte %zu of %zu on", over,
             m->begin, w->launch->site.shared_bytes);
}

// ---- global memory -----------------------------------------------------------------------------

static void name_allocation(struct array_name* n, const struct allocation* a, const char* p,
                            size_t bytes) {
    int best = -1;
    for (int i = 0; i < argument_count; i++) {
        if (cudev_allocation_at(arguments[i].p) != a) continue;
        bool nearer = best < 0 || (arguments[i].p <= p) > (arguments[best].p <= p) ||
                      (arguments[i].p <= p && arguments[i].p > arguments[best].p);
        if (nearer) best = i;
    }
    const char* data = best < 0 ? a->data + a->named_at : arguments[best].p;
    size_t element = best < 0 || !arguments[best].bytes ? bytes : arguments[best].bytes;
    const struct cudev_launch_site* site = &cudev_current_launch.site;
    if (best < 0 && a->name)
        snprintf(n->name, sizeof n->name, "%s", a->name);
    else if (best < 0)
        snprintf(n->name, sizeof n->name, "%s%s%.40s:%d", cudev_allocation_call(a),
                 a->file ? " " : " number", a->file ? a->file : "",
                 a->file ? a->line : (int)a->number);
    else if (!parameter_name(site->parameters, arguments[best].index, n->name, sizeof n->name))
        snprintf(n->name, sizeof n->name, "argument %d", arguments[best].index + 1);
    snprintf(n->element, sizeof n->element, "%s", n->name);
    add_index(n->element, sizeof n->element, NULL, element, p - data);
    snprintf(n->origin, sizeof n->origin, "%s: ", n->name);
    const char* end = a->name ? a->data + a->named_at + a->named_bytes : a->data + a->bytes;
    size_t left = end > data ? (size_t)(end - data) : 0;
    add_extent(n->origin, sizeof n->origin, NULL, left / element, element);
    size_t used = strlen(n->origin);
    if (a->file)
        snprintf(n->origin + used, sizeof n->origin - used, ", %s at %s:%d",
                 cudev_allocation_call(a), a->file, a->line);
    else if (a->name && strcmp(a->name, n->name) != 0)
        snprintf(n->origin + used, sizeof n->origin - used, ", which is the caller's %s", a->name);
    else if (!a->name)
        snprintf(n->origin + used, sizeof n->origin - used, ", %s number %u",
                 cudev_allocation_call(a), a->number);
    // up to where the next argument points
    end = a->data + a->bytes;
    for (int i = 0; i < argument_count; i++)
        if (arguments[i].p > p && arguments[i].p < end) end = arguments[i].p;
    n->begin = (uint64_t)((data < p ? data : p) - ARENA_BASE);
    n->end = (uint64_t)(end - ARENA_BASE);
    n->id = (best < 0 ? 1u << 20 | a->number : 1u << 21 | (unsigned)arguments[best].index);
}

// Between the guards of two allocations: the nearer one, if it is not far, either before or behind.
static const struct allocation* nearest_allocation(const char* p) {
    const struct pool* pool = cudev_pool_of(p);
    const struct allocation* nearest = NULL;
    ptrdiff_t least = 1 << 20;  // bytes
    for (size_t i = 0; pool && i < pool->count; i++) {
        const struct allocation* a = &pool->table[i];
        ptrdiff_t away = p < a->data ? a->data - p : p - (a->data + a->bytes);
        if (away < least) least = away, nearest = a;
    }
    return nearest;
}

void cudev_name_array(struct array_name* n, const struct worker* w, uint64_t offset, size_t bytes) {
    memset(n, 0, sizeof *n);
    if (offset >= WINDOW_OFFSET) {
        if (w) name_shared(n, w, offset, bytes);
        return;
    }
    const char* p = ARENA_BASE + offset;
    const struct allocation* a = cudev_allocation_at(p);
    if (!a) a = nearest_allocation(p);
    if (a) {
        name_allocation(n, a, p, bytes);
        return;
    }
    struct variable v;
    n->id = 1u << 22;
    if (offset >= IMAGE_OFFSET && variable_at(__executable_start + (offset - IMAGE_OFFSET), &v)) {
        n->begin = IMAGE_OFFSET + (v.begin - (uintptr_t)__executable_start);
        n->end = n->begin + v.bytes;
        n->id |= (uint32_t)(n->begin - IMAGE_OFFSET);
        snprintf(n->name, sizeof n->name, "%s", v.name);
        snprintf(n->element, sizeof n->element, "%s", v.name);
        if (v.bytes > bytes)
            add_index(n->element, sizeof n->element, NULL, bytes, (long long)(offset - n->begin));
        snprintf(n->origin, sizeof n->origin, "%s: a __device__ variable of %zu bytes", v.name,
                 v.bytes);
        return;
    }
    snprintf(n->name, sizeof n->name, "memory that is not allocated");
    snprintf(n->element, sizeof n->element, "%s", n->name);
}
