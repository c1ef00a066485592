#include <mpi.h>  // refused: MPI
void f() {}
int main() {
    return 0;
}
