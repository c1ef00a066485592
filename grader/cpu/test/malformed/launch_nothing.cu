// clang-format off
int main(void) {
    ; <<<1, 1>>>(); // ERROR: <<< must follow the name of a kernel
}
