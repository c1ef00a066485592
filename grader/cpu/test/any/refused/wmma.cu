#include <mma.h>  // refused: nvcuda::wmma
void f() {}
int main() {
    return 0;
}
