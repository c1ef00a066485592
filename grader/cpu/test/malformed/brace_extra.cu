// clang-format off
__global__ void first(float* p, int n) {
    for (int i = 0; i < n; i++)
        p[i] = 1.0f;
    }  // ERROR: a } too many, or a { is missing: this one closes the { of line 2
}
