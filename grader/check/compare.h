// compare.h: the one comparer. Everything that is called right or wrong goes through it.
#ifndef COMPARE_H
#define COMPARE_H

#include <stdbool.h>
#include <stdint.h>

#include "check/check.h"

enum verdict {
    RIGHT,
    WRONG,          // a value, but not the wanted one
    NEVER_WRITTEN,  // still the poison
    TOUCHED,        // written, though it had to stay as it was
};

struct comparison {
    int64_t count;          // elements looked at
    int64_t expected;       // of them to be written
    int64_t wrong;          // of them not RIGHT
    int64_t never_written;  // of them NEVER_WRITTEN
    int64_t touched;        // of them TOUCHED: not among those to be written
    int64_t nonfinite;      // NaN or infinite where a finite value is wanted, and written
    int64_t first;          // the first element that is not RIGHT, or -1
    double worst;           // largest error of a finite pair
    double mean;            // mean error over all finite pairs
    int64_t worst_at;       // where the largest error is, or -1
    bool mean_exceeded;     // every element may be right and the mean still too large
    double bias;            // mean of what the finite pairs add to |want|
    bool bias_exceeded;     // the errors go to one side
};

// The verdict on one element. Classes first: NaN wants NaN, an infinity the same infinity; then
// !(|got - want| <= tolerance) is wrong, so that a NaN never passes.
enum verdict compare_element(double want, double got, bool poisoned, bool untouched,
                             double tolerance);

// By how much got is larger than want in size: below 0 if it is nearer to 0. Both are finite.
double compare_growth(double want, double got);

// Compares n elements; poisoned and untouched may be NULL (nothing is).
struct comparison compare(const double* want, const double* got, const bool* poisoned,
                          const bool* untouched, int64_t n, struct budget budget);

// True if the comparison found nothing wrong, and looked at something.
bool comparison_passes(const struct comparison* c);

#endif
