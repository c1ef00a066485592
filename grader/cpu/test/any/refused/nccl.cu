#include <nccl.h>  // refused: NCCL
void f() {}
int main() {
    return 0;
}
