// result.c: a student's result.json may hold anything. A result that is read is written, and read
// again, as the same.
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report/result.h"

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    static struct result first, second;
    char* text = malloc(size + 1);
    if (!text) return 0;
    memcpy(text, data, size);
    text[size] = '\0';
    if (result_from_json(text, &first)) {
        char* written = result_to_json(&first);
        if (written && !result_from_json(written, &second)) abort();
        char* again = written ? result_to_json(&second) : NULL;
        if (written && (!again || strcmp(written, again) != 0)) abort();
        free(written);
        free(again);
        result_total(&first);
    }
    free(text);
    return 0;
}
