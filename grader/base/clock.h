// clock.h: how long something takes.
#ifndef CLOCK_H
#define CLOCK_H

// Seconds on a clock that is never set; only differences mean something.
double clock_seconds(void);

#endif
