// clang-format off
__global__ void first(float* p, int n) {
    for (int i = 0; i < n; i++) {  // ERROR: the { of this line is not closed: a } is missing before line 5
        p[i] = 1.0f;
}
__global__ void second(float* p) {
    p[0] = 2.0f;
}
