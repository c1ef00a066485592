// Writing the file.
#ifndef CUDEV_REWRITE_OUTPUT_H
#define CUDEV_REWRITE_OUTPUT_H

#include "cpu/rewrite/tokens.h"

// Writes the file with all replacements; fails if a line could be read in two ways.
void write_out(const char* name);

#endif
