// utf16.h: a text that an editor has saved in UTF-16, as Notepad's "Unicode" is.
#ifndef UTF16_H
#define UTF16_H

#include <stddef.h>

// The text as UTF-8 without its byte-order mark; *length does not count the NUL behind it. The
// caller frees it. NULL if the data has no byte-order mark of UTF-16, or is none behind it.
char* utf16_text(const char* data, size_t size, size_t* length);

#endif
