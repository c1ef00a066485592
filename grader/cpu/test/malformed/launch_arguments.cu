// clang-format off
__global__ void k() {}
int main(void) {
    k<<<1, 1>>>;  // ERROR: the kernel's arguments (...) must follow >>>
}
