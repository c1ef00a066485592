// from lesson 17: tuned_tiles.h: the tiles of lessons 14 and 16, for lessons with the same loops.
//
// `make tune` and `make exercises` write these lines: they are those of the two tiles.h, under
// names of their own. Nothing below the next line is edited here.
#ifndef COURSE_TUNED_TILES_H
#define COURSE_TUNED_TILES_H

// clang-format off
// ---- from lessons/14_flash_tensor_core/tiles.h, as FORWARD -----------------------------------
#define FORWARD_64 128, 64, 4, 0, 2
#define FORWARD_64_CAUSAL 128, 64, 4, 0, 2
#define FORWARD_128 128, 64, 4, 0, 2
#define FORWARD_128_CAUSAL 128, 64, 4, 0, 2
#define FORWARD_128_99KB 128, 64, 4, 0, 2
#define FORWARD_128_CAUSAL_99KB 128, 64, 4, 0, 2
// ---- from lessons/16_flash_backward_split/tiles.h, as BACKWARD -------------------------------
#define BACKWARD_64 128, 32, 1, 2, 128, 64, 2
#define BACKWARD_64_CAUSAL 128, 32, 1, 2, 128, 64, 2
#define BACKWARD_128 64, 64, 2, 2, 128, 32, 2
#define BACKWARD_128_CAUSAL 64, 64, 2, 2, 128, 32, 2
#define BACKWARD_128_99KB 32, 64, 4, 2, 128, 32, 2
#define BACKWARD_128_CAUSAL_99KB 32, 64, 4, 2, 128, 32, 2
// clang-format on

#endif
