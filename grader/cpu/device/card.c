// The card that the device poses as.
#include <stdlib.h>

#include "cpu/device/worker.h"
#include "cpu/include/cudev.h"

const struct known_card* cudev_card(void) {
    static const struct known_card* card;
    if (!card) card = card_named(getenv("CUDEV_CARD"));
    if (!card)
        cudev_refuse("CUDEV_CARD names a card that the CPU device does not know",
                     "leave it out, or take one of grader/cpu/cards/cards.c");
    return card;
}
