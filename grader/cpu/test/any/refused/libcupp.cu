#include <cuda/barrier>  // refused: libcu++
void f() {}
int main() {
    return 0;
}
