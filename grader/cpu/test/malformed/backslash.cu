// clang-format off
#define A 1 \ // ERROR: a \ that ends no line
    + 2  // the line above ends in a blank
