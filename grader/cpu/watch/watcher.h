// Turning the watchers on.
#ifndef CUDEV_WATCHER_SETUP_H
#define CUDEV_WATCHER_SETUP_H

#include "cpu/device/watcher.h"

// Sets cudev_watcher if CUDEV_WATCH asks for it. Called before main().
void cudev_watch_setup(void);

#endif
