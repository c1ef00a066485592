// edits.c: a file that was handed in, compared with the one that was given.
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "check/edits.h"

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    static const char given[] = "int a;\nname_of_x = NONE,\n// ---- 1 f\nint f() {\n}\n// ---- 2\n";
    char *text = malloc(size + 1), to[100];
    if (size > 0) memcpy(text, data, size);
    struct edits made = edits_of(given, "name_of_", text, size);
    for (int s = 0; s < made.sections; s++)
        if (made.lines[s] < 0) abort();
    edits_constant(text, size, "name_of_x", to, sizeof to);
    free(text);
    return 0;
}
