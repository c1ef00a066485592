#include <cub/cub.cuh>  // refused: CUB
void f() {}
int main() {
    return 0;
}
