// forward.h: the items, or their first halves, that are about the forward pass; see check.c.
#ifndef FORWARD_H
#define FORWARD_H

#include "check/check.h"

void forward_blocks(struct check* c);
void forward_short(struct check* c);
void forward_unseen(struct check* c);
void forward_logsumexp(struct check* c);
void forward_heads(struct check* c);
void forward_strides(struct check* c);
void forward_any_head(struct check* c);
void forward_extreme(struct check* c);
void forward_again(struct check* c);
void forward_arguments(struct check* c);
void forward_safe(struct check* c);
void forward_cheap(struct check* c);

// explain() of check.h, for O and LSE.
enum cause forward_explain(struct check* c, const struct tensor* t, struct budget budget);

#endif
