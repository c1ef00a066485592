// functions.h: which of lesson 04's functions a case is about, its argument "function".
#ifndef FUNCTIONS_H
#define FUNCTIONS_H

enum function { ONE_EACH, GRID, WAVES };

#endif
