// forward.h: the items of lesson 17 that call gqa_forward() (forward.c), for check.c, which has the others.
#ifndef GQA_FORWARD_H
#define GQA_FORWARD_H

#include "check/check.h"

void forward_groups(struct check* c);
void forward_group_of_three(struct check* c);
void forward_causal(struct check* c);
void forward_ragged(struct check* c);
void forward_logsumexp(struct check* c);
void forward_places(struct check* c);
void forward_hard(struct check* c);
void forward_decoding(struct check* c);

// The forward pass's cases of items that both passes have.
void forward_again(struct check* c);
void forward_arguments(struct check* c);
void forward_safe(struct check* c);

// lesson.explain() of these cases.
enum cause forward_explain(struct check* c, const struct tensor* t, struct budget budget);

#endif
