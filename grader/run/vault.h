// vault.h: memory of the runner that is closed while the student's code runs.
//
// What the runner tells the grader, and what it counts until then, lies in the student's process.
// It is shut to the student's loads and stores, in kernels and on the host, by the page tables;
// every function of the runner opens it, does what it has to, and closes it before it goes on to
// code that is not its own.
#ifndef VAULT_H
#define VAULT_H

#include <stddef.h>

enum { VAULT_PAGE = 4096 };

// Adds whole pages, which are open until vault_close().
void vault_add(void* pages, size_t bytes);

void vault_open(void);
void vault_close(void);

#endif
