// clang-format off
void f(void* p) {
    CUdeviceptr q = 0;  // ERROR: not on the CPU device: the driver's functions, use those of the runtime, which begin with cuda
}
