// cg::reduce(): every thread of a tile, or of lanes of a warp, gets the sum of all, or what `op`
// makes of them.
#ifndef CUDEV_COOPERATIVE_GROUPS_REDUCE_H
#define CUDEV_COOPERATIVE_GROUPS_REDUCE_H

#include "../cooperative_groups.h"

namespace cooperative_groups {

#define CUDEV_OPERATOR(name, expression)                                \
    template <class T = void> struct name {                             \
        T operator()(const T& a, const T& b) const {                    \
            return expression;                                          \
        }                                                               \
    };                                                                  \
    template <> struct name<void> {                                     \
        template <class T> T operator()(const T& a, const T& b) const { \
            return expression;                                          \
        }                                                               \
    };
CUDEV_OPERATOR(plus, a + b)
CUDEV_OPERATOR(less, b < a ? b : a)
CUDEV_OPERATOR(greater, a < b ? b : a)
CUDEV_OPERATOR(bit_and, a& b)
CUDEV_OPERATOR(bit_or, a | b)
CUDEV_OPERATOR(bit_xor, a ^ b)
#undef CUDEV_OPERATOR

// Pairs whose lanes differ in one bit, so that all end with the same sum.
template <unsigned threads, class Parent, class T, class Op>
inline T reduce(const thread_block_tile<threads, Parent>& tile, T value, Op op, CUDEV_HERE) {
    for (unsigned bit = threads / 2; bit > 0; bit /= 2)
        value = op(value, tile.shfl_xor(value, bit, file, line));
    return value;
}

// Ranks half the size apart, down to the first, which tells all.
template <class T, class Op>
inline T reduce(const coalesced_group& group, T value, Op op, CUDEV_HERE) {
    const unsigned rank = group.thread_rank();
    for (unsigned left = group.size(); left > 1;) {
        const unsigned half = (left + 1) / 2;
        const T other = group.shfl_down(value, half, file, line);
        if (rank + half < left) value = op(value, other);
        left = half;
    }
    return group.shfl(value, 0, file, line);
}

}  // namespace cooperative_groups
#endif
