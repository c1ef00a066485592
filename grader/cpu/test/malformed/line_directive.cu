// clang-format off
int x;
# 7 "elsewhere.h" 1  // ERROR: this directive has no place in a .cu
