// formula.h: formulas as a student writes them, like 4 * B * N^2 or ceil(N / 64). They are read and
// computed here, in C, by recursive descent: nothing of them reaches a shell or a compiler.
//
//     expr  = term  { "+" term  | "-" term }
//     term  = unary { "*" unary | "/" unary }
//     unary = "-" unary | "+" unary | power
//     power = atom [ "^" unary ]              so -2^2 is -4, and 2^3^2 is 2^9
//     atom  = number | size | function "(" expr { "," expr } ")" | "(" expr ")"
//
// A number is decimal, like 64 or 1.5e12. The functions are min and max (of two or more), ceil,
// floor, sqrt and log2 (of one). Everything is a double; 1 / 0 is infinite, 0 / 0 NaN: no errors.
#ifndef FORMULA_H
#define FORMULA_H

#include <stdbool.h>

enum { FORMULA_DEPTH = 64 };  // parentheses, signs and powers within each other

// What a name stands for.
struct formula_size {
    const char* name;
    double value;
};

struct formula_error {
    int column;  // of the text, from 1
    char message[256];
};

// Computes text, which ends with its NUL and may hold any bytes. True, and *value; or false, and
// *error: what is not understood, where, and what to write instead. The time it takes is
// proportional to the length of the text; no memory is allocated.
bool formula_evaluate(const char* text, const struct formula_size* sizes, int count, double* value,
                      struct formula_error* error);

#endif
