// clang-format off
const char* s = "abc; // ERROR: missing terminating
