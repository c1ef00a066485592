// clang-format off
#include "helper_cuda.h"  // ERROR: not on the CPU device: the helpers of NVIDIA's samples, use COURSE_TRY() of course.h, and what a call returns
