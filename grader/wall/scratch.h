// scratch.h: the folder in which a submission is compiled.
#ifndef SCRATCH_H
#define SCRATCH_H

// A fresh directory under TMPDIR or /tmp, one at a time; it goes when this process exits or is
// killed by SIGINT, SIGTERM or SIGHUP. The caller frees the name. NULL with errno.
char* scratch_make(void);

// Removes that directory, and frees its name.
void scratch_remove(char* path);

#endif
