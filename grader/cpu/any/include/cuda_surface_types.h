// What this header of CUDA has is in cudev_any.h.
#include "cudev_any.h"
