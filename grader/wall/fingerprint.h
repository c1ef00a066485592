// fingerprint.h: which grader gave a grade.
#ifndef FINGERPRINT_H
#define FINGERPRINT_H

// SHA-256 over everything that decides a grade of this lesson besides the submission: its cases,
// contract and call, and the grader's sources. Returns 0, or -1 if a file cannot be read.
int fingerprint(const char* lesson, char hex[65]);

#endif
