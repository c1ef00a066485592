// The profile as text.
#ifndef CUDEV_PROFILE_TEXT_H
#define CUDEV_PROFILE_TEXT_H

#include <stdbool.h>
#include <stdio.h>

// Writes a table for reading, or CSV.
void cudev_profile_write(FILE* out, bool csv);

#endif
