// clang-format off
__global__ void k() {}
int main(void) {
    k<<<1, 1>>(); // ERROR: <<< has no matching >>>
}
