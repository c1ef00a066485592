// cg::memcpy_async(): the threads of a group copy from global to shared memory by cp.async, so
// nothing is there before cg::wait().
#ifndef CUDEV_COOPERATIVE_GROUPS_MEMCPY_ASYNC_H
#define CUDEV_COOPERATIVE_GROUPS_MEMCPY_ASYNC_H

#include "../cooperative_groups.h"

namespace cooperative_groups {

// bytes: a multiple of 4, and both addresses, too.
template <class Group, class T, class Shape>
inline void memcpy_async(const Group& group, T* to, const T* from, const Shape& bytes, CUDEV_HERE) {
    for (size_t i = 4 * (size_t)group.thread_rank(); i < (size_t)bytes;
         i += 4 * (size_t)group.size())
        cudev_copy_async((char*)to + i, (const char*)from + i, 4, 4, file, line);
    cudev_copy_commit();
}
template <class Group> inline void wait(const Group& group, CUDEV_HERE) {
    cudev_copy_wait(0);
    group.sync(file, line);
}
// All but the newest `pending` copies have arrived.
template <unsigned pending, class Group> inline void wait_prior(const Group& group, CUDEV_HERE) {
    cudev_copy_wait(pending);
    group.sync(file, line);
}

}  // namespace cooperative_groups
#endif
