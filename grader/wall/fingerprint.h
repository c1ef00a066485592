// fingerprint.h: which grader gave a grade.
#ifndef FINGERPRINT_H
#define FINGERPRINT_H

// SHA-256 over the sources that decide a grade of this lesson besides the submission, by their
// paths from the top of the course and their bytes: those of which make built the check, the call
// and the device, and those with which a submission is compiled. It is the same in every clone, on
// every machine. Returns 0, or -1 if a file cannot be read.
int fingerprint(const char* lesson, char hex[65]);

#endif
