// The words of a finding.
#ifndef CUDEV_FINDING_TEXT_H
#define CUDEV_FINDING_TEXT_H

#include "cpu/device/lines.h"
#include "cpu/watch/finding.h"

// A finding with the lines of its instructions; line 0: not known.
struct located_finding {
    const struct finding* f;
    struct source_line line, other;
};

// The two lines of a race in the order of the source. A finding of another kind has only the first.
const struct source_line* cudev_first_line(const struct located_finding* r);
const struct source_line* cudev_second_line(const struct located_finding* r);

const char* cudev_finding_kind(const struct finding* f);  // "out_of_bounds"
// No thread reads there, so no barrier is missing: two threads have computed the same index.
bool cudev_race_of_writes(const struct finding* f);
// The whole text, `length` bytes and a 0, until the next call.
const char* cudev_finding_text(const struct located_finding* r, size_t* length);

#endif
