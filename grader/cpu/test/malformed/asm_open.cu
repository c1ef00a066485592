void f() {
    asm("nop" ; // ERROR: is not closed
}
