// fingerprint.h: which grader gave a grade.
#ifndef FINGERPRINT_H
#define FINGERPRINT_H

// SHA-256 over the sources that decide a grade of this lesson besides the submission: over their
// paths from the top of the course and their bytes. make built the check, the call and the device
// from some of these files; a submission is compiled with the others. It is the same in every
// clone, on every machine. Returns 0, or -1 if a file cannot be read.
int fingerprint(const char* lesson, char hex[65]);

#endif
