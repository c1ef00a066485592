// finding.h: a finding of the CPU device, as values. Its text says the same to a student; who wants
// a line or a name takes it from here.
//
// cpu/watch/finding_text.c says it, run/ carries it through the arena, and the result keeps it. A
// line is one of the .cu file that is graded; 0: there is none.
#ifndef FINDING_H
#define FINDING_H

#include <stdbool.h>

enum { FINDINGS = 10, FINDING_ACCESSES = 2 };  // FINDINGS: as many as the device prints

struct finding_access {
    char verb[64];       // "read", "write", "atomic"; of TMA and wgmma what they do: "loads by TMA"
    bool plain;          // a thread's read or write
    char who[112];       // "thread (1,0,0) of block (0,0,0)"
    char function[120];  // it is in this one; "": its place is not known
    unsigned line;       // of the access
    unsigned caller;     // where a function of another file was called, which makes the access
};

struct finding_values {
    char kind[32];     // as cudev_on_finding() is told it: "race_of_writes"
    char words[480];   // the first line of the text: "race on s[0]: line 5 writes, line 9 reads"
    char file[200];    // the .cu file, as the text names it; "": it names none of its lines
    unsigned line;     // where it was seen; where no other line is known, that of the launch
    unsigned first;    // of its lines, in the order of the source
    unsigned caller;   // of the access that has one: the line where a header's function was called
    int access_count;  // the earlier access first
    struct finding_access access[FINDING_ACCESSES];
    char kernel[160];  // "k<4>"; "": host code
    unsigned launch;   // the line of its launch
    char next[400];    // what to do next
};

// Ends the strings and bounds the count of what another process has written.
void finding_values_end(struct finding_values* v);

#endif
