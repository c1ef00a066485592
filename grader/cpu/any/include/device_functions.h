// cudev_any.h has what this header of CUDA has.
#include "cudev_any.h"
