// clang-format off
__shared__ float a[4];  // ERROR: declare __shared__ variables inside the kernel
