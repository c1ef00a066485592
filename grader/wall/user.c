// user.c: throw-away user ids, so that two grades at once do not share one. See wall.h.
#include "wall/wall.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

// Above what distributions give to people, below what systemd gives to services (61184).
enum { FIRST_USER = 60600, USERS = 256 };

int wall_take_user(int* lock) {
    *lock = -1;
    if (geteuid() != 0) return -1;
    // An abstract socket name is a lock that the kernel drops with its holder, however that ends.
    int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (fd < 0) return -1;
    for (int i = 0; i < USERS; i++) {
        struct sockaddr_un name = {.sun_family = AF_UNIX};
        int n =
            snprintf(name.sun_path + 1, sizeof name.sun_path - 1, "grade-user-%d", FIRST_USER + i);
        socklen_t size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)n);
        if (bind(fd, (struct sockaddr*)&name, size) == 0) {
            *lock = fd;
            return FIRST_USER + i;
        }
    }
    close(fd);
    return -1;
}

void wall_release_user(int lock) {
    if (lock >= 0) close(lock);
}
