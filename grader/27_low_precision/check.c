#include "27_low_precision/low.h"
static void whole_tiles(struct check* c) {
    low_case(all_keys(c, 128, 128), "", JUDGE_O|JUDGE_LSE);
    low_case(all_keys(c, 128, 128*5), "", JUDGE_O|JUDGE_LSE);
    low_case(of_d(all_keys(c, 128, 384), 128), "", JUDGE_O|JUDGE_LSE);
    low_case(of_blocks(of_d(all_keys(c, 300, 384), 128),6), "", JUDGE_O|JUDGE_LSE);
    low_case(of_blocks(of_heads(causal(c, 300, 500), 2,4,2),6), "", JUDGE_O|JUDGE_LSE);
    low_case(of_blocks(all_keys(c, 300, 2100),6), "", JUDGE_O|JUDGE_LSE);
    low_case(of_blocks(causal(c, 300, 200),6), "", JUDGE_O|JUDGE_LSE);
}
static enum cause explain(struct check* c, const struct tensor* t, struct budget budget) { return fragment_explain(c,t,budget);}
static const struct item items[] = {{100, "whole tiles", whole_tiles},{0}};
const struct lesson lesson = {
    .name = "27_low_precision",
    .promises = ALLOCATES_NOTHING | DEFAULT_STREAM | DOES_NOT_WAIT,
    .items = items,
    .idea = {.what = "x", .paid_by = {whole_tiles}, .naive = "x"},
    .explain = explain};
