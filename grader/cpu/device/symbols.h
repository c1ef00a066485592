// The variables of the device.
#ifndef CUDEV_SYMBOLS_H
#define CUDEV_SYMBOLS_H

#include <stdbool.h>

bool cudev_is_symbol(const void* p);           // does p lie in a variable of the device?
bool cudev_is_constant_symbol(const void* p);  // in one that nobody may write?
const char* cudev_symbols_end(void);           // the end of the last one
// Opens them to everybody, or closes them.
void cudev_symbols_protect(bool open);

#endif
