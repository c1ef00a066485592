// cuda.h: the driver API is not supported; the types of the runtime API are.
#include "cuda_runtime.h"
