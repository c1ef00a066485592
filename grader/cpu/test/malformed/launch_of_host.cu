// clang-format off
static void k(float* p) { p[0] = 0; }
int main(void) {
    k<<<1, 1>>>(NULL);  // ERROR: k() is no kernel; write __global__ in front of it to launch it
}
