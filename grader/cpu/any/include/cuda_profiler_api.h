// Marks for a profiler, which change nothing.
#include "cudev/any_api.h"
