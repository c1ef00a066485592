// scratch.h: the folder in which a submission is compiled: the contract, the headers, what the
// programs are linked with and the tools. Nothing else of this repository is in it, so nothing else
// can be included. A header of lessons/ is in it if this lesson may use the header. For an earlier
// lesson an #error in its place names the first lesson that may.
#ifndef SCRATCH_H
#define SCRATCH_H

#include <stdbool.h>
#include <stddef.h>

// TMPDIR, or /tmp.
const char* scratch_place(void);

// A fresh directory there, one at a time; it goes when this process exits or is
// killed by SIGINT, SIGTERM or SIGHUP. The caller frees the name. NULL with errno.
char* scratch_make(void);

// Fills it for this lesson: the submission as `shown`, size bytes; include/ and lib/ for
// compile.sh, with the files for nvcc if gpu; an empty out/. Returns 0, or -1 with errno.
int scratch_fill(const char* work, const char* lesson, bool gpu, const char* shown,
                 const char* source, size_t size);

// Calls visit() first for the list of the files that lie there besides the submission, then for
// each of the files. visit() gets the file, and where it goes ("" for the list; a name that ends
// with / is a folder). gpu: with the files for nvcc. Returns the first result of visit() that is
// not 0; -1 if the list cannot be read.
typedef int scratch_visit(const char* from, const char* to, void* data);
int scratch_each(const char* lesson, bool gpu, scratch_visit* visit, void* data);

// Removes the directory that scratch_make() made, and frees its name.
void scratch_remove(char* path);

#endif
