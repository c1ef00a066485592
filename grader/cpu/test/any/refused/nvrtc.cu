#include <nvrtc.h>  // refused: NVRTC
void f() {}
int main() {
    return 0;
}
