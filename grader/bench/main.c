// main.c: the program `bench`: a lesson's versions alone.
#include "bench/peers.h"

int main(int argc, char** argv) {
    return bench_main(argc, argv, 0);
}
