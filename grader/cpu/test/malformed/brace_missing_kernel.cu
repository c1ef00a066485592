// clang-format off
__global__ void first(float* p, int n) {  // ERROR: the { of this line is not closed: a } is missing before line 7
    for (int i = 0; i < n; i++) {
        p[i] = 1.0f;
    }

static int launch(float* p) {
    static int launches;
    first<<<1, 1>>>(p, 1);
    return ++launches;
}
