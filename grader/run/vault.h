// vault.h: memory of the runner that is closed while the student's code runs.
//
// What the runner tells the grader, and what it counts until then, lies in the student's process.
// It is shut to the student's loads and stores, in kernels and on the host, by the page tables;
// every function of the runner opens it, does what it has to, and closes it before it goes on to
// code that is not its own. Before the launcher runs and after it there is no such code: there it
// is held open, which saves most of the calls that change page tables.
#ifndef VAULT_H
#define VAULT_H

#include <stddef.h>

enum { VAULT_PAGE = 4096 };

// Adds whole pages, which are open until vault_close().
void vault_add(void* pages, size_t bytes);

void vault_open(void);
void vault_close(void);

// Open until vault_release(), whatever is called in between; then closed.
void vault_hold(void);
void vault_release(void);

#endif
