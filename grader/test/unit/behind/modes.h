// modes.h: what the program of test/unit/trial.c does behind the wall. out = in is right.
#ifndef MODES_H
#define MODES_H

enum mode {
    COPIES,
    TWICE,       // out = 2 in
    TRANSPOSED,  // of a square
    ADDS,        // out += in
    TAIL,        // the last 2 of 6 rows are 0
    NOTHING,     // writes nothing
    STALE,       // the second call gives the result of the first
    RACES,       // twice; the instrumented build finds a race
    STATUS,      // the launcher returns 3
    REFUSED_LAUNCH,
    REFUSED_CALL,
    GUARD,     // writes past the end
    INPUT,     // writes into its input
    DIVERGES,  // the device ends it with a diagnosis
    CRASHES,
    LOOPS,
    SLEEPS,
    NEEDS_TIME,    // writes nothing if a launch has less than a second
    NO_KERNEL,     // launches none
    TO_HOST,       // copies to the host
    ON_DEVICE,     // copies on the device
    ON_HOST,       // the result is there without any kernel
    HALF_ON_HOST,  // half of it
    SEALED,        // forbids sealing the results
    STARTLESS,     // main() is not reached, or so it seems
    BAD_KIND,      // the device names a diagnosis that the grader does not know
};

#endif
