// front.c: linked in front of the student's object, as border.c is behind it: the student's static
// variables lie between the two, on pages of their own (host.c).
#include "run/border.h"

_Alignas(BORDER) char front_data[BORDER] = {1};
_Alignas(BORDER) char front_bss[BORDER];
