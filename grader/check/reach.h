// reach.h: does a kernel reach the end of its largest inputs? All their blocks would take seconds,
// so on the CPU device only a few run: see cudev_run_few_blocks(). On a GPU all run.
//
//     static bool reached(struct check* c, const void* problem, int64_t n) {
//         check_case(c, "n = %lld", (long long)n);
//         ... declares and fills
//         check_run_few_blocks(c);
//         check_run(c);
//         return check_end_is_right(y);
//     }
//     check_reaches(c, 1000000, reached, &sizes);
#ifndef REACH_H
#define REACH_H

#include "check/check.h"

// Runs cases of `size` rows or columns, more than 65536. The item fails if the last results are not
// right, though with sizes below 65536 they are: then it is the size that the kernel cannot do. It
// is not known which rows a block takes; a kernel whose last blocks have others than the last rows
// is not judged, nor one whose blocks are few, which take one row after another.
enum { REACH_WHOLE = 2200 };  // blocks that a case of its own runs all, with more rows than that
void check_reaches(struct check* c, int64_t size,
                   bool (*reached)(struct check* c, const void* problem, int64_t size),
                   const void* problem);

// In the running case few blocks run. Call it before check_run(), which ends the item as bad_launch
// if a launch is refused or the launcher does not return COURSE_OK.
void check_run_few_blocks(struct check* c);

// The last numbers of an output, compared with want: right to a few bits?
bool check_end_is_right(const struct tensor* t);

#endif
