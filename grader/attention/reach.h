// reach.h: does an attention kernel do its last queries, if there are billions?
#ifndef ATTENTION_REACH_H
#define ATTENTION_REACH_H

#include "attention/problem.h"

enum { REACH_MOST = INT32_MAX };  // queries

// check_indexes() (check/reach.h) along N_q, which is `queries` instead of p's, for cases of p's
// heads and keys: O, LSE and what the contract's is_more_right() compares; or dQ. The last row of
// the last head is compared, and few blocks run, an eighth of a grid of few. So a backward pass has
// p.B * p.H >= 8, and its keys fit into the smallest tile. A kernel that walks over hidden queries
// would take hours: p has a causal mask, and the item has found such kernels before.
void attention_reaches(struct problem p, int64_t queries);

// The same for a launcher whose blocks may begin in the order of their work: up to 2^18 queries. Of
// so many the last block need not have the last row, and fewer are not compared with.
void attention_reaches_in_order(struct problem p, int64_t queries);

// check_most() for 65535 heads, with no_heads batches, of p's queries and keys: all that a contract
// allows; with any_heads for a few more. One batch, no group.
void attention_most_heads(struct problem p);

// Is the last row right to a few bits? A kernel that takes another row, or none, is farther off.
bool attention_is_last_right(const struct tensor* t, int64_t width);

// check_first_indexes() likewise, of a launcher whose blocks stay: the contract's show_more() has
// them end behind their first tile.
void attention_reaches_first(struct problem p, int64_t queries);

// check_last_indexes() likewise, also of blocks that stay.
void attention_reaches_last(struct problem p, int64_t queries);

// check_reaches_limit() likewise: are there as many blocks for so many queries as for fewer?
void attention_reaches_limit(struct problem p, int64_t queries);

// A grid that does not grow any more, for so many queries, has to go on: it is asked for the last
// of twice as many as it takes at once. The item fails as grid_limit. A kernel whose last block has
// other rows than the last ones is not judged.
void attention_goes_on(struct problem p, int64_t queries);

// check_last_indexes() along N_k, for cases of p's heads, one key head each, and queries: O and LSE
// of the last row; or the last rows of dK and dV, of dV alone with fewer than 8 heads: then no
// block of other, small grids runs. Who goes over all keys takes too long, and is not judged.
void attention_reaches_keys(struct problem p, int64_t keys);

// check_first_indexes() likewise: of so many keys, and of fewer, are the last ones used? The mask
// hides nearly all others, and who goes over hidden keys is not judged. Of a backward pass all
// blocks run, and all gradients are compared.
void attention_counts_keys(struct problem p, int64_t keys);

// A case of a forward pass with a mask of blocks, so many in a row, of which the first and the last
// are active: O is compared. The keys between are not there.
void attention_far_blocks(struct problem p, int64_t blocks);

#endif
