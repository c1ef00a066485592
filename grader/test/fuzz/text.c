// text.c: the inspection of the text that is compiled. An input is the file's name, a line end, and
// the two preprocessed texts with a byte 0 between; one text alone stands for both.
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "wall/inspect.h"

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    char message[512] = "", *text = malloc(size + 2);
    if (!text) return 0;
    memcpy(text, data, size);
    text[size] = text[size + 1] = '\0';
    char* plain = strchr(text, '\n');
    if (plain) {
        *plain++ = '\0';
        char* watched = plain + strlen(plain) + 1;
        if (watched > text + size) watched = plain;
        bool fine = inspect_text(plain, watched, text, message, sizeof message);
        if (!fine && !message[0]) abort();  // a refusal says why
    }
    free(text);
    return 0;
}
