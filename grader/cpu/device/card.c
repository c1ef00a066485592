// The card that the device poses as. A process may begin on another card, which is device 0 then.
#include <stdlib.h>

#include "cpu/device/worker.h"
#include "cpu/include/cudev.h"

static int device;
static const struct known_card* card;

static bool begins_on_another(void) {
    const char* first = getenv("CUDEV_FIRST_CARD");
    return first && *first;
}

static const struct known_card* card_of(const char* variable) {
    const struct known_card* named = card_named(getenv(variable));
    if (!named)
        cudev_refuse("CUDEV_CARD names a card that the CPU device does not know",
                     "leave it out, or take one of grader/cpu/cards/cards.c");
    return named;
}

const struct known_card* cudev_card_of(int number) {
    if (number == device) return cudev_card();
    return card_of(number == 0 ? "CUDEV_FIRST_CARD" : "CUDEV_CARD");
}

const struct known_card* cudev_card(void) {
    if (!card) card = card_of(begins_on_another() ? "CUDEV_FIRST_CARD" : "CUDEV_CARD");
    return card;
}

int cudev_device(int* count) {
    *count = begins_on_another() ? 2 : 1;
    return device;
}

void cudev_next_device(void) {
    if (!begins_on_another()) return;
    device = 1;
    card = card_of("CUDEV_CARD");
}
