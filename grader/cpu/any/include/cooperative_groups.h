// Cooperative groups: the block, tiles of a warp, the lanes that are active together, and lanes
// that agree on a value. They are names for the barriers and warp functions of cudev/sync.h, whose
// diagnoses tell the caller's line. A grid cannot wait: its blocks run one after the other.
#ifndef CUDEV_COOPERATIVE_GROUPS_H
#define CUDEV_COOPERATIVE_GROUPS_H

namespace cooperative_groups {

namespace details {
inline unsigned rank_in_block() {
    return threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
}
inline unsigned threads_of_block() {
    return blockDim.x * blockDim.y * blockDim.z;
}
inline unsigned lane() {
    return rank_in_block() % 32;
}
// The lane that is number `rank` in the mask.
inline unsigned lane_of(unsigned mask, unsigned rank) {
    for (; rank > 0; rank--) mask &= mask - 1;
    return (unsigned)__builtin_ctz(mask);
}
inline unsigned rank_of(unsigned mask) {
    return (unsigned)__builtin_popcount(mask & ((1u << lane()) - 1));
}

// Values of any size travel in words.
template <class T> struct words {
    static constexpr size_t count = (sizeof(T) + 3) / 4;
    static_assert(sizeof(T) <= 32, "a value of more than 32 bytes does not go through a shuffle");
    unsigned word[count];
};
template <class T, bool simple> struct packed {
    static T through(enum cudev_warp_op op, unsigned mask, T value, unsigned arg, unsigned width,
                     const char* file, int line) {
        return cudev::from_bits<T>(
            cudev_warp(op, mask, cudev::to_bits(value), arg, width, file, line));
    }
};
template <class T> struct packed<T, false> {
    static T through(enum cudev_warp_op op, unsigned mask, T value, unsigned arg, unsigned width,
                     const char* file, int line) {
        static_assert(sizeof(T) % 4 == 0, "a value of such a size does not go through a shuffle");
        words<T> w = __builtin_bit_cast(words<T>, value);
        for (size_t i = 0; i < words<T>::count; i++)
            w.word[i] = (unsigned)cudev_warp(op, mask, w.word[i], arg, width, file, line);
        return __builtin_bit_cast(T, w);
    }
};
template <class T>
inline T shuffle(enum cudev_warp_op op, unsigned mask, T value, unsigned arg, unsigned width,
                 const char* file, int line) {
    constexpr bool simple = sizeof(T) == 1 || sizeof(T) == 2 || sizeof(T) == 4 || sizeof(T) == 8;
    return packed<T, simple>::through(op, mask, value, arg, width, file, line);
}
template <class T> inline unsigned long long bits_of(T value) {
    return cudev::to_bits(value);
}
}  // namespace details

// ---- a group of a kind that only runs knows: the block, or lanes of one warp ----

struct thread_group {
    unsigned lanes;  // 0: the whole block
    unsigned tile, tiles;

    void sync(CUDEV_HERE) const {
        if (lanes)
            cudev_warp(CUDEV_SYNCWARP, lanes, 0, 0, 0, file, line);
        else
            cudev_barrier(CUDEV_BARRIER, 0, file, line);
    }
    unsigned size() const {
        return lanes ? (unsigned)__builtin_popcount(lanes) : details::threads_of_block();
    }
    unsigned num_threads() const {
        return size();
    }
    unsigned thread_rank() const {
        return lanes ? details::rank_of(lanes) : details::rank_in_block();
    }
    bool is_valid() const {
        return true;
    }
};

struct thread_block : thread_group {
    thread_block() : thread_group{0, 0, 1} {}
    static void sync(CUDEV_HERE) {
        cudev_barrier(CUDEV_BARRIER, 0, file, line);
    }
    // The barrier in two halves: here the second one does it all.
    struct arrival_token {};
    static arrival_token barrier_arrive() {
        return arrival_token();
    }
    static void barrier_wait(arrival_token&&, CUDEV_HERE) {
        cudev_barrier(CUDEV_BARRIER, 0, file, line);
    }
    static unsigned size() {
        return details::threads_of_block();
    }
    static unsigned num_threads() {
        return details::threads_of_block();
    }
    static unsigned thread_rank() {
        return details::rank_in_block();
    }
    static dim3 group_index() {
        return dim3(blockIdx);
    }
    static dim3 thread_index() {
        return dim3(threadIdx);
    }
    static dim3 group_dim() {
        return blockDim;
    }
    static dim3 dim_threads() {
        return blockDim;
    }
};
inline thread_block this_thread_block() {
    return thread_block();
}
inline thread_group this_thread() {
    return thread_group{1u << details::lane(), 0, 1};
}

// ---- lanes of a warp that a mask names ----

struct coalesced_group : thread_group {
    coalesced_group(unsigned mask, unsigned rank = 0, unsigned count = 1)
        : thread_group{mask, rank, count} {}
    unsigned meta_group_rank() const {
        return tile;
    }
    unsigned meta_group_size() const {
        return tiles;
    }
    template <class T> T shfl(T value, unsigned rank, CUDEV_HERE) const {
        unsigned from = details::lane_of(lanes, rank % size());
        return details::shuffle(CUDEV_SHFL, lanes, value, from, 32, file, line);
    }
    template <class T> T shfl_up(T value, unsigned delta, CUDEV_HERE) const {
        unsigned rank = thread_rank(), from = delta > rank ? rank : rank - delta;
        return details::shuffle(CUDEV_SHFL, lanes, value, details::lane_of(lanes, from), 32, file,
                                line);
    }
    template <class T> T shfl_down(T value, unsigned delta, CUDEV_HERE) const {
        unsigned rank = thread_rank(), from = rank + delta < size() ? rank + delta : rank;
        return details::shuffle(CUDEV_SHFL, lanes, value, details::lane_of(lanes, from), 32, file,
                                line);
    }
    int any(int predicate, CUDEV_HERE) const {
        return (int)cudev_warp(CUDEV_ANY, lanes, predicate != 0, 0, 0, file, line);
    }
    int all(int predicate, CUDEV_HERE) const {
        return (int)cudev_warp(CUDEV_ALL, lanes, predicate != 0, 0, 0, file, line);
    }
    unsigned ballot(int predicate, CUDEV_HERE) const {
        return ranks((unsigned)cudev_warp(CUDEV_BALLOT, lanes, predicate != 0, 0, 0, file, line));
    }
    template <class T> unsigned match_any(T value, CUDEV_HERE) const {
        return ranks((unsigned)cudev_warp(CUDEV_MATCH_ANY, lanes, details::bits_of(value), 0, 0,
                                          file, line));
    }
    template <class T> unsigned match_all(T value, int& same, CUDEV_HERE) const {
        unsigned found = ranks((unsigned)cudev_warp(CUDEV_MATCH_ALL, lanes, details::bits_of(value),
                                                    0, 0, file, line));
        same = found != 0;
        return found;
    }

    // Bits of lanes as bits of ranks.
    unsigned ranks(unsigned found) const {
        unsigned out = 0, rank = 0;
        for (unsigned rest = lanes; rest; rest &= rest - 1, rank++)
            out |= (found >> __builtin_ctz(rest) & 1) << rank;
        return out;
    }
};
inline coalesced_group coalesced_threads(CUDEV_HERE) {
    return coalesced_group((unsigned)cudev_warp(CUDEV_ACTIVEMASK, 0, 0, 0, 0, file, line));
}

// ---- tiles of a size that the source says ----

template <unsigned threads, class Parent = void> struct thread_block_tile : thread_group {
    static_assert(threads >= 1 && threads <= 32 && (threads & (threads - 1)) == 0,
                  "not on the CPU device: a tile has 1, 2, 4, 8, 16 or 32 threads; use the block");
    explicit thread_block_tile(const thread_group& of)
        : thread_group{mask(), (of.lanes ? of.thread_rank() : details::rank_in_block()) / threads,
                       (of.size() + threads - 1) / threads} {}
    template <class Other>
    thread_block_tile(const thread_block_tile<threads, Other>& other) : thread_group(other) {}
    static unsigned mask() {
        const unsigned all = threads == 32 ? ~0u : (1u << threads % 32) - 1;
        return all << details::lane() / threads * threads;
    }
    void sync(CUDEV_HERE) const {
        cudev_warp(CUDEV_SYNCWARP, lanes, 0, 0, 0, file, line);
    }
    static constexpr unsigned size() {
        return threads;
    }
    static constexpr unsigned num_threads() {
        return threads;
    }
    static unsigned thread_rank() {
        return details::lane() % threads;
    }
    unsigned meta_group_rank() const {
        return tile;
    }
    unsigned meta_group_size() const {
        return tiles;
    }
    template <class T> T shfl(T value, int rank, CUDEV_HERE) const {
        return details::shuffle(CUDEV_SHFL, lanes, value, (unsigned)rank, threads, file, line);
    }
    template <class T> T shfl_up(T value, unsigned delta, CUDEV_HERE) const {
        return details::shuffle(CUDEV_SHFL_UP, lanes, value, delta, threads, file, line);
    }
    template <class T> T shfl_down(T value, unsigned delta, CUDEV_HERE) const {
        return details::shuffle(CUDEV_SHFL_DOWN, lanes, value, delta, threads, file, line);
    }
    template <class T> T shfl_xor(T value, unsigned bits, CUDEV_HERE) const {
        return details::shuffle(CUDEV_SHFL_XOR, lanes, value, bits, threads, file, line);
    }
    int any(int predicate, CUDEV_HERE) const {
        return (int)cudev_warp(CUDEV_ANY, lanes, predicate != 0, 0, 0, file, line);
    }
    int all(int predicate, CUDEV_HERE) const {
        return (int)cudev_warp(CUDEV_ALL, lanes, predicate != 0, 0, 0, file, line);
    }
    unsigned ballot(int predicate, CUDEV_HERE) const {
        return own(cudev_warp(CUDEV_BALLOT, lanes, predicate != 0, 0, 0, file, line));
    }
    template <class T> unsigned match_any(T value, CUDEV_HERE) const {
        return own(cudev_warp(CUDEV_MATCH_ANY, lanes, details::bits_of(value), 0, 0, file, line));
    }
    template <class T> unsigned match_all(T value, int& same, CUDEV_HERE) const {
        unsigned found =
            own(cudev_warp(CUDEV_MATCH_ALL, lanes, details::bits_of(value), 0, 0, file, line));
        same = found != 0;
        return found;
    }

    // Bits of the warp's lanes as bits of the tile's.
    static unsigned own(unsigned long long found) {
        return (unsigned)found >> details::lane() / threads * threads;
    }
};

template <unsigned threads, class Group>
inline thread_block_tile<threads, Group> tiled_partition(const Group& group) {
    return thread_block_tile<threads, Group>(group);
}
// Threads number 0 to n - 1 of the group, n to 2 n - 1, ...
inline coalesced_group tiled_partition(const thread_group& group, unsigned n) {
    const unsigned rank = group.thread_rank(), first = rank / n * n;
    unsigned mask = 0;
    if (!group.lanes) {
        mask = (n >= 32 ? ~0u : (1u << n) - 1) << details::lane() / n * n;
    } else {
        for (unsigned r = first; r < first + n && r < group.size(); r++)
            mask |= 1u << details::lane_of(group.lanes, r);
    }
    return coalesced_group(mask, rank / n, (group.size() + n - 1) / n);
}

// Lanes that give the same label.
template <class Group, class T>
inline coalesced_group labeled_partition(const Group& group, T label, CUDEV_HERE) {
    return coalesced_group((unsigned)cudev_warp(CUDEV_MATCH_ANY, group.lanes,
                                                details::bits_of(label), 0, 0, file, line));
}
template <class Group>
inline coalesced_group binary_partition(const Group& group, bool predicate, CUDEV_HERE) {
    const unsigned yes =
        (unsigned)cudev_warp(CUDEV_BALLOT, group.lanes, predicate, 0, 0, file, line);
    return coalesced_group(predicate ? yes : group.lanes & ~yes, predicate, 2);
}

// ---- the grid ----

struct grid_group {
    // Blocks of a launch run one after the other, so none can wait for a later one.
    void sync(CUDEV_HERE) const {
        cudev_not_here("grid.sync(): blocks run one after the other, none can wait for the others",
                       "end the kernel there and launch a second one", file, line);
    }
    bool is_valid() const {
        return true;
    }
    unsigned long long num_blocks() const {
        return (unsigned long long)gridDim.x * gridDim.y * gridDim.z;
    }
    unsigned long long block_rank() const {
        return blockIdx.x + gridDim.x * (blockIdx.y + (unsigned long long)gridDim.y * blockIdx.z);
    }
    unsigned long long size() const {
        return num_blocks() * details::threads_of_block();
    }
    unsigned long long num_threads() const {
        return size();
    }
    unsigned long long thread_rank() const {
        return block_rank() * details::threads_of_block() + details::rank_in_block();
    }
    dim3 group_dim() const {
        return gridDim;
    }
    dim3 dim_blocks() const {
        return gridDim;
    }
    dim3 block_index() const {
        return dim3(blockIdx);
    }
};
inline grid_group this_grid() {
    return grid_group();
}

// ---- functions of all groups ----

template <class Group> inline void sync(const Group& group, CUDEV_HERE) {
    group.sync(file, line);
}
template <class Group> inline auto thread_rank(const Group& group) {
    return group.thread_rank();
}
template <class Group> inline auto group_size(const Group& group) {
    return group.size();
}

}  // namespace cooperative_groups
#endif
