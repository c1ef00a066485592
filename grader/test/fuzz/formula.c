// formula.c: a file of answers, and the formulas in it.
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "formula/answers.h"
#include "formula/formula.h"

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    static const char* const names[] = {"forward_flops", "answer", ""};
    static const struct formula_size sizes[] = {{"B", 2}, {"H", 3}, {"N", 1024}, {"d", 64}};
    struct formula_error error;
    double value;
    char *file = malloc(size), *text = malloc(size + 1);
    if (size > 0) memcpy(file, data, size);
    for (int i = 0; i < 3; i++) {
        struct answer a = answer_find(file, size, names[i]);
        if (a.state == ANSWER_THERE && !formula_evaluate(a.text, sizes, 4, &value, &error) &&
            (error.column < 1 || error.column > (int)strlen(a.text) + 1))
            abort();
    }
    // The whole input as one formula, with no file around it.
    if (size > 0) memcpy(text, data, size);
    text[size] = '\0';
    if (size <= ANSWER_LENGTH) formula_evaluate(text, sizes, 4, &value, &error);
    free(file);
    free(text);
    return 0;
}
