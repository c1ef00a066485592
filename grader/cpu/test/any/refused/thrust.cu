#include <thrust/sort.h>  // refused: Thrust
void f() {}
int main() {
    return 0;
}
