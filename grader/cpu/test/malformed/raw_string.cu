// clang-format off
const char* x = R"(  // ERROR: raw strings are not supported
#pragma GCC optimize("O0")
)";
