#include <curand_kernel.h>  // refused: cuRAND
void f() {}
int main() {
    return 0;
}
