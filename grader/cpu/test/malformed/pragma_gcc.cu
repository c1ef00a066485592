// clang-format off
#pragma unroll
#pragma GCC optimize("O0")  // ERROR: #pragma GCC
int x;
