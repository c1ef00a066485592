// finds: nothing; ends with host code touches
// Host code reaches for the memory in which the watchers keep what they have seen.
#include <stdint.h>
#include "small.h"

int main(void) {
    uintptr_t shadow = ((uintptr_t)empty(1) & ~(uintptr_t)0xffffffff) + ((uintptr_t)16 << 30);
    *(volatile int*)shadow = 0;
    return 0;
}
