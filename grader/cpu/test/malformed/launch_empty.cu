// clang-format off
__global__ void k() {}
int main(void) {
    k<<<>>>();  // ERROR: <<< >>> is empty
}
