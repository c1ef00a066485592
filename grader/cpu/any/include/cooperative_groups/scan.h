// cg::inclusive_scan(), cg::exclusive_scan(): what `op` makes of the values of all threads up to
// this one.
#ifndef CUDEV_COOPERATIVE_GROUPS_SCAN_H
#define CUDEV_COOPERATIVE_GROUPS_SCAN_H

#include "reduce.h"

namespace cooperative_groups {

template <class Group, class T, class Op>
inline T inclusive_scan(const Group& group, T value, Op op, CUDEV_HERE) {
    const unsigned rank = group.thread_rank();
    for (unsigned delta = 1; delta < group.size(); delta *= 2) {
        const T before = group.shfl_up(value, delta, file, line);
        if (rank >= delta) value = op(before, value);
    }
    return value;
}
template <class Group, class T> inline T inclusive_scan(const Group& group, T value, CUDEV_HERE) {
    return inclusive_scan(group, value, plus<T>(), file, line);
}
// Rank 0 gets T().
template <class Group, class T, class Op>
inline T exclusive_scan(const Group& group, T value, Op op, CUDEV_HERE) {
    const T before = group.shfl_up(inclusive_scan(group, value, op, file, line), 1u, file, line);
    return group.thread_rank() == 0 ? T() : before;
}
template <class Group, class T> inline T exclusive_scan(const Group& group, T value, CUDEV_HERE) {
    return exclusive_scan(group, value, plus<T>(), file, line);
}

}  // namespace cooperative_groups
#endif
