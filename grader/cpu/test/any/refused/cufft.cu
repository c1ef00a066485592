#include <cufft.h>  // refused: cuFFT
void f() {}
int main() {
    return 0;
}
