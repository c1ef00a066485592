// finds: nothing; ends with host code touches device memory: byte 12 of the 32 bytes
// Host code follows a device pointer.
#include "small.h"

int main(void) {
    float* a = filled(8);
    return a[3] > 2.0f ? 0 : 1;
}
