// vault.c: see vault.h.
#include "run/vault.h"

#include <stdbool.h>
#include <stdlib.h>
#include <sys/mman.h>

enum { PARTS = 8 };
static struct {
    void* pages;
    size_t bytes;
} part[PARTS];
static int parts;
static bool held;

void vault_add(void* pages, size_t bytes) {
    if (parts == PARTS) abort();
    part[parts].pages = pages;
    part[parts++].bytes = (bytes + VAULT_PAGE - 1) / VAULT_PAGE * VAULT_PAGE;
}

static void protect(int protection) {
    for (int i = 0; i < parts; i++)
        if (mprotect(part[i].pages, part[i].bytes, protection) != 0) abort();
}

void vault_open(void) {
    if (!held) protect(PROT_READ | PROT_WRITE);
}

void vault_close(void) {
    if (!held) protect(PROT_NONE);
}

void vault_hold(void) {
    vault_open();
    held = true;
}

void vault_release(void) {
    held = false;
    vault_close();
}
