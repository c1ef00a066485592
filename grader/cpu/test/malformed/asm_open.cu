void f() {

    asm("x" ; // ERROR: is not closed
}
