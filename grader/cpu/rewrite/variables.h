// Whose a variable of the file is: the host's or the device's.
#ifndef CUDEV_REWRITE_VARIABLES_H
#define CUDEV_REWRITE_VARIABLES_H

#include "cpu/rewrite/tokens.h"

// Fails if a kernel uses a variable of the host, or host code uses a variable of the device.
void check_variables(void);

#endif
