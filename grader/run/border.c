// border.c: linked behind the student's object and before everything of ours, so that in each
// section these mark the end of the student's part (host.c).
#include "run/border.h"

_Alignas(BORDER) char border_data[BORDER] = {1};
_Alignas(BORDER) char border_bss[BORDER];
