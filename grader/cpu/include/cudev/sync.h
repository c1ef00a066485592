// Barriers and fences. The default arguments record the caller's line for the diagnoses.
#ifndef CUDEV_SYNC_H
#define CUDEV_SYNC_H

#define CUDEV_HERE const char *file = __builtin_FILE(), int line = __builtin_LINE()

inline void __syncthreads(CUDEV_HERE) {
    cudev_barrier(CUDEV_BARRIER, 0, file, line);
}
inline int __syncthreads_count(int predicate, CUDEV_HERE) {
    cudev_barrier(CUDEV_BARRIER_COUNT, predicate, file, line);
    return cudev_vote_result();
}
inline int __syncthreads_and(int predicate, CUDEV_HERE) {
    cudev_barrier(CUDEV_BARRIER_AND, predicate, file, line);
    return cudev_vote_result();
}
inline int __syncthreads_or(int predicate, CUDEV_HERE) {
    cudev_barrier(CUDEV_BARRIER_OR, predicate, file, line);
    return cudev_vote_result();
}

#endif
