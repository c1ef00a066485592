// finds: nothing; ends with host code touches device memory
// Host code follows a pointer to a row that lies far from the others. (cudev_spread)
#include <stdio.h>
#include "far.h"

int main(void) {
    printf("%g\n", far_rows()[FAR_STEP]);
    return 0;
}
