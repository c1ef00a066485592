const char *s = "abc; // ERROR: missing terminating
