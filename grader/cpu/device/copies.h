// Copies, fills, and the variables of the device.
#ifndef CUDEV_COPIES_H
#define CUDEV_COPIES_H

#include <stdbool.h>

// Has cudaGetSymbolAddress() given this address away?
bool cudev_is_symbol(const void* p);

#endif
