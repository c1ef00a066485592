// The variables of the device.
#ifndef CUDEV_SYMBOLS_H
#define CUDEV_SYMBOLS_H

#include <stdbool.h>

struct symbol {
    bool is;        // there is a variable of the device
    bool constant;  // in constant memory: kernels only read it, and it is not global memory
    bool fixed;     // it is const
};
struct symbol cudev_symbol_at(const void* p);
const char* cudev_symbols_end(void);  // the end of the last one

static inline bool cudev_is_symbol(const void* p) {
    return cudev_symbol_at(p).is;
}

// Who may access them: nobody; kernels; copies.
enum symbol_access { SYMBOLS_CLOSED, SYMBOLS_OF_KERNELS, SYMBOLS_OPEN };
void cudev_symbols_protect(enum symbol_access access);

#endif
