// border.h: the objects that lie around the student's, see front.c and border.c.
#ifndef BORDER_H
#define BORDER_H

#ifdef __x86_64__
enum { BORDER = 4096 };
#else
enum { BORDER = 65536 };  // the largest page
#endif

extern char front_data[BORDER], front_bss[BORDER], border_data[BORDER], border_bss[BORDER];

#endif
