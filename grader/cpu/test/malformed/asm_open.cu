// clang-format off
void f() {
    asm("nop" ; // ERROR: is not closed
}
