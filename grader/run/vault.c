// vault.c: see vault.h.
#include "run/vault.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>

struct vault vault;

enum { PARTS = 4, ROOM = 33 << 20 };
static struct {
    void* pages;
    size_t bytes;
} part[PARTS] = {{&vault, sizeof vault}};
static int parts = 1;
static bool held;

static void protect(int protection) {
    for (int i = 0; i < parts; i++)
        if (mprotect(part[i].pages, part[i].bytes, protection) != 0) abort();
}

// One mapping with a closed page at either end: the system opens and closes it in one piece.
void* vault_memory(size_t bytes) {
    static char *room, *next;
    if (!room) {
        room = mmap(NULL, ROOM + 2 * VAULT_PAGE, PROT_NONE,
                    MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (room == MAP_FAILED) abort();
        room += VAULT_PAGE;
        next = room;
        vault_add(room, ROOM);
        protect(PROT_READ | PROT_WRITE);
    }
    char* memory = next;
    next += (bytes + VAULT_PAGE - 1) / VAULT_PAGE * VAULT_PAGE;
    if (next > room + ROOM) abort();
    return memory;
}

void vault_add(void* pages, size_t bytes) {
    if (parts == PARTS) abort();
    part[parts].pages = pages;
    part[parts++].bytes = (bytes + VAULT_PAGE - 1) / VAULT_PAGE * VAULT_PAGE;
}

void vault_open(void) {
    if (!held) protect(PROT_READ | PROT_WRITE);
}

void vault_close(void) {
    if (!held) protect(PROT_NONE);
}

static void protect_pages(const void* first, size_t bytes, int protection) {
    const uintptr_t begin = (uintptr_t)first / VAULT_PAGE * VAULT_PAGE;
    if (!held && mprotect((void*)begin, (uintptr_t)first + bytes - begin, protection) != 0) abort();
}

void vault_open_pages(const void* part, size_t bytes) {
    protect_pages(part, bytes, PROT_READ | PROT_WRITE);
}

void vault_close_pages(const void* part, size_t bytes) {
    protect_pages(part, bytes, PROT_NONE);
}

void vault_hold(void) {
    vault_open();
    held = true;
}

void vault_release(void) {
    held = false;
    vault_close();
}
