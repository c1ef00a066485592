// clang-format off
void f() {}
/* a comment // ERROR: comment does not end
