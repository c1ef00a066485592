// vault.h: memory of the runner that is closed while the student's code runs.
//
// The runner's answers to the grader, and its counts until then, lie in the student's process.
// This memory is shut to the student's loads and stores, in kernels and on the host, by the page
// tables; every function of the runner opens it, does what it has to, and closes it before it goes
// on to code that is not its own. Before the launcher runs and after it there is no such code:
// there it is held open, which saves most of the calls that change page tables.
#ifndef VAULT_H
#define VAULT_H

#include <stddef.h>

enum { VAULT_PAGE = 4096 };

// The parts of the vault from the start. Their addresses are constants: a pointer to one could be
// turned to something else. Pointers to the rest lie in it.
extern struct vault {
    _Alignas(VAULT_PAGE) char book[VAULT_PAGE];    // meter.c
    _Alignas(VAULT_PAGE) char origin[VAULT_PAGE];  // origin.c
    _Alignas(VAULT_PAGE) char handed[VAULT_PAGE];  // handed.c
} vault;

// More of it, all zero, which takes no room before it is used; it stays. Ends the program where
// there is none.
void* vault_memory(size_t bytes);

// Adds whole pages, which are open until vault_close().
void vault_add(void* pages, size_t bytes);

void vault_open(void);
void vault_close(void);

// The same for the pages of a part of it alone, which takes less time.
void vault_open_pages(const void* part, size_t bytes);
void vault_close_pages(const void* part, size_t bytes);

// Open until vault_release(), whatever is called in between; then closed.
void vault_hold(void);
void vault_release(void);

#endif
