// cause.h: the one list of causes a grade can name.
//
// CAUSE(id, sentence): the id stands in results, in wrong kernels ("// cause: id") and in hints.md;
// the sentence is what a student reads after "likely cause:". A lesson's check.c may answer with
// any of them; a new cause is a new line here. COST() instead says that the answers may be right
// all the same: a slower version on the way to a solution may fail by it, and by nothing else
// (grader/test/kernel.sh). OPEN(): a question has no answer yet.
#ifndef CAUSE_H
#define CAUSE_H

#define CAUSES(CAUSE, COST, OPEN)                                                                  \
    CAUSE(unknown, "no known pattern fits; look at the first wrong element and the map")           \
    /* what was written where */                                                                   \
    CAUSE(never_written, "these elements were never written")                                      \
    CAUSE(all_zero, "every element is 0: what was summed does not reach the output")               \
    CAUSE(out_of_bounds, "memory outside an array was used: mend the index, or the size, or "      \
                         "guard the last block or tile")                                           \
    CAUSE(input_changed, "the kernel wrote into one of its inputs")                                \
    CAUSE(tail_dropped, "only the last, partly filled block or tile is missing or wrong")          \
    CAUSE(last_left_out,                                                                           \
          "only the last row or column is missing or wrong: a bound is one too small")             \
    CAUSE(inner_tail,                                                                              \
          "the last, partly filled tile of the inner loop is left out, or not filled with "        \
          "what adds nothing")                                                                     \
    CAUSE(columns_short,                                                                           \
          "a score sums fewer than its d products: the loop over the columns ends early")          \
    CAUSE(grid_limit, "only elements far from the start are wrong: the grid, or an index of few "  \
                      "bits, ends before")                                                         \
    CAUSE(empty_input, "an empty input must return COURSE_OK; a grid of 0 blocks is an error")     \
    CAUSE(stride_loop,                                                                             \
          "a fixed grid leaves elements out: each thread goes on by as many as the grid has "      \
          "threads")                                                                               \
    CAUSE(blocks_ignored, "the launch has another number of blocks than was asked for")            \
    CAUSE(batch_ignored,                                                                           \
          "batches are not where they belong: a batch's offset is missing, or is not the one "     \
          "that this array's axes or strides give")                                                \
    CAUSE(head_ignored,                                                                            \
          "heads are not where they belong: a head's offset is missing, or is not the one that "   \
          "this array's axes or strides give")                                                     \
    CAUSE(head_mapping, "query head h uses key head h / (H_q / H_k): neighbours share one, in "    \
                        "groups of any size, "                                                     \
                        "3 as well")                                                               \
    CAUSE(other_head, "queries meet keys of another head than their own: each call takes the "     \
                      "arrays of the head that its block has")                                     \
    CAUSE(group_not_summed, "dK and dV of a key head are sums over all query heads of its group, " \
                            "not the share of one")                                                \
    CAUSE(stride_ignored, "rows are addressed as if packed, or by another array's stride: each "   \
                          "array has strides of its own")                                          \
    CAUSE(wrapped_index,                                                                           \
          "an index has too few bits, 32 or a float's 24: strides and what they multiply are "     \
          "int64_t")                                                                               \
    CAUSE(other_operation,                                                                         \
          "the numbers are put together in another way than the contract says: compare your "      \
          "formula with its equation")                                                             \
    CAUSE(wrong_array, "one array stands where another belongs")                                   \
    CAUSE(swapped_sizes,                                                                           \
          "sizes are mixed up, rows and columns, or M, N and K: in a row length, a guard, the "    \
          "grid, or a loop")                                                                       \
    CAUSE(transposed, "the result is right but transposed, or an operand is read transposed")      \
    CAUSE(piece_cut, "of each piece of 16 bytes a part is copied: a copy's size is in bytes")      \
    CAUSE(swizzle, "pieces of a row are stored at one place and read from another")                \
    CAUSE(sums_moved, "right numbers stand in wrong places: a thread does not store the row and "  \
                      "column that it has computed")                                               \
    CAUSE(index_mixed, "in an index of a tile x, y and k, or row and column, are mixed up")        \
    CAUSE(fragment_order,                                                                          \
          "a lane's share of a matrix is in other registers than mma.sync expects")                \
    CAUSE(descriptor_step,                                                                         \
          "the next 16 of k are looked for in the wrong place of a tile: 32 bytes further where "  \
          "k runs fastest, else 16 rows of 128 bytes")                                             \
    CAUSE(stale_state, "the second call repeats something of the first: nothing may be kept")      \
    CAUSE(accumulates, "sums begin with what stood there before, in the output or of the tile "    \
                       "before: begin with 0")                                                     \
    CAUSE(row_before,                                                                              \
          "a block that takes several rows begins a row with what it knows of the one "            \
          "before")                                                                                \
    /* arithmetic */                                                                               \
    CAUSE(low_precision, "right but too inexact: a sum or an operand is kept in too few bits")     \
    CAUSE(half_range, "numbers pass through fp16, which ends at 65504 and at 6e-8")                \
    CAUSE(clamped,                                                                                 \
          "a result beyond the range of fp16 is infinite once it is rounded, not the largest "     \
          "finite number")                                                                         \
    CAUSE(subnormal, "subnormal numbers are taken for 0: those below 2^-126, of fp16 below 2^-14") \
    CAUSE(whole_numbers, "numbers become whole on their way: an int stands where a float belongs") \
    CAUSE(constant_ratio, "every element is wrong by the same factor")                             \
    CAUSE(not_moved, "an element is computed with on its way: -0 + 0 is 0")                        \
    CAUSE(flag_value,                                                                              \
          "a flag counts if it is any number but 0: not 1 alone, and it is no number to count "    \
          "with")                                                                                  \
    CAUSE(nan_leak,                                                                                \
          "a NaN or infinity reaches elements that do not depend on it (0 * NaN is NaN)")          \
    CAUSE(nan_lost,                                                                                \
          "where a NaN or an infinity has to show stands another value: 0 * NaN is NaN, and who "  \
          "rounds by hand has to keep both")                                                       \
    CAUSE(infinity_lost,                                                                           \
          "where an infinity has to show stands NaN: infinity minus infinity is NaN, and so is "   \
          "infinity times 0")                                                                      \
    CAUSE(zero_skipped, "a product with 0 is left out: 0 times NaN or infinity is NaN")            \
    CAUSE(overflow, "exp overflows on large scores: first subtract the row's maximum so far, not " \
                    "that of a tile alone, or LSE")                                                \
    CAUSE(max_init,                                                                                \
          "the maximum must start at -infinity, also in lanes and warps that have no element; no " \
          "finite number stands for it")                                                           \
    CAUSE(max_of_others, "the maximum is no number of its row: something else is compared on the " \
                         "way, sums maybe")                                                        \
    CAUSE(max_unscaled,                                                                            \
          "the maximum is of scores before the scale, and not of what exp takes: that may "        \
          "overflow or be 0; with a scale below 0 it is the smallest")                             \
    CAUSE(max_scaled_again,                                                                        \
          "the running maximum is scaled once more, in each tile or where exp takes it: it has "   \
          "the scale already, and only the scores lack it")                                        \
    CAUSE(bits_compared, "negative floats are compared as integers: of their bits the larger are " \
                         "the smaller number")                                                     \
    CAUSE(max_stale, "the running maximum is not kept for the next tile: m = m_new is missing")    \
    CAUSE(max_of_tile,                                                                             \
          "the new maximum is that of the tile alone: it is the larger of that and m, or alpha "   \
          "overflows")                                                                             \
    CAUSE(max_of_rows,                                                                             \
          "the largest score is that of several rows: a row takes its own, from those lanes "      \
          "alone that share it")                                                                   \
    CAUSE(max_before,                                                                              \
          "P, or a part's weight, is relative to the maximum from before: it takes m_new, as "     \
          "alpha does")                                                                            \
    CAUSE(empty_state,                                                                             \
          "NaN where nothing was seen yet: guard (-inf) - (-inf); is alpha the right way round?")  \
    CAUSE(empty_row,                                                                               \
          "a row of nothing but -infinity is one of zeros: (-inf) - (-inf) and 0 / 0 are NaN")     \
    CAUSE(stays_empty,                                                                             \
          "every row is left without a maximum: what was seen is not folded into its state, or "   \
          "no state is merged")                                                                    \
    CAUSE(no_rescale, "the running sum l is not rescaled when the maximum grows")                  \
    CAUSE(no_rescale_O, "the accumulator O is not rescaled when the maximum grows")                \
    CAUSE(other_sum,                                                                               \
          "each row is right but for a factor of its own: it is divided by another sum "           \
          "than that of its weights, a row's of another tile maybe")                               \
    CAUSE(rescale_repeated,                                                                        \
          "alpha multiplies l and O once for each tile, before its weights are added: not once "   \
          "for each key or column")                                                                \
    CAUSE(rescale_reversed, "alpha is exp(m_old - m_new), not exp(m_new - m_old)")                 \
    CAUSE(rescale_crossed, "merged, l_a is multiplied with exp(m_a - m), l_b with exp(m_b - m): "  \
                           "not crosswise, and neither is left out")                               \
    CAUSE(sum_init, "the running sum must start at 0, and who has nothing to add gives it 0")      \
    CAUSE(epsilon_added, "l is too large by a small number: add none to it, and start it at 0")    \
    CAUSE(small_weights,                                                                           \
          "small weights are dropped or held up: exp(x - m) is exact however small it is")         \
    CAUSE(divided_early,                                                                           \
          "P or O is divided by l inside of the loop: divide O once, after the last "              \
          "tile")                                                                                  \
    CAUSE(added_early, "a sum is added to the result before it is whole, and again: add it once, " \
                       "behind its loop")                                                          \
    CAUSE(not_divided, "the output is not divided by l at the end")                                \
    CAUSE(scale_missing, "the scores are not multiplied by scale = 1/sqrt(d)")                     \
    CAUSE(scale_squared, "scale is applied twice (or 1/d is used for 1/sqrt(d))")                  \
    CAUSE(scale_ignored, "the kernel uses a scale of its own, not the one the launcher is given")  \
    CAUSE(scale_zero, "the scale may be 0: nothing is divided by it, and no infinity multiplied")  \
    CAUSE(exp2_base, "exp2(x) is exp(x ln 2): fold log2(e) into the scale, in P and in alpha")     \
    CAUSE(merge_lost, "partial results of some lanes, warps or tiles never reach the final merge") \
    CAUSE(counted_again, "elements count more than once: a thread goes on by as many as there "    \
                         "are threads that share the row")                                         \
    CAUSE(merged_twice, "partial results are merged more than once: each lane, or warp, has its "  \
                        "own, and nobody comes twice")                                             \
    CAUSE(max_short,                                                                               \
          "numbers that are summed were not looked at for the maximum: both loops go over the "    \
          "same ones")                                                                             \
    CAUSE(sum_short, "numbers that were looked at for the maximum are not in the sum: both loops " \
                     "go over the same ones")                                                      \
    CAUSE(lse_base2, "LSE is taken or given in base 2; the contract's is the natural logarithm")   \
    CAUSE(lse_no_max, "LSE is log(l) without the row maximum m")                                   \
    CAUSE(lse_other_max, "LSE has another maximum than the one that l is relative to")             \
    CAUSE(lse_no_log, "LSE is m + l: the logarithm of l is missing")                               \
    CAUSE(lse_unscaled, "the maximum in LSE is of the unscaled scores")                            \
    /* which keys a query sees */                                                                  \
    CAUSE(causal_ignored, "the flag `causal` is ignored, taken for set at 1 alone, or counted "    \
                          "with: it is any number but 0, and hides keys")                          \
    CAUSE(mask_corner,                                                                             \
          "the causal mask starts at the wrong corner: query i sees keys up to i + N_k - N_q")     \
    CAUSE(mask_off_by_one,                                                                         \
          "the diagonal is one off: query i sees key i + N_k - N_q, and none after it")            \
    CAUSE(mask_value,                                                                              \
          "a hidden key has the score 0 or some negative number, not -infinity: it gets a weight") \
    CAUSE(mask_scaled,                                                                             \
          "a hidden score is multiplied by the scale: -infinity times 0 is NaN, times less "       \
          "infinity; scale first, then mask")                                                      \
    CAUSE(mask_late,                                                                               \
          "hidden scores count for the row maximum: mask S before its maximum is taken")           \
    CAUSE(masked_row,                                                                              \
          "a row that sees no key: O is 0, LSE -infinity; 0 / 0 and (-inf) - (-inf) are NaN")      \
    CAUSE(finite_lse,                                                                              \
          "a row that sees no key has LSE = -infinity; no finite LSE, however low, stands for it") \
    CAUSE(base_zero,                                                                               \
          "0 stands for m_new where a row has seen no key, and only there: everywhere else P "     \
          "and alpha are relative to m_new")                                                       \
    CAUSE(packed_row,                                                                              \
          "the row of a packed tile is taken for its query: several rows are of one query")        \
    CAUSE(diagonal_unmasked,                                                                       \
          "a tile that the diagonal crosses is treated as if all of it were seen")                 \
    CAUSE(mask_ignored, "blocks that the mask leaves out count all the same")                      \
    CAUSE(mask_transposed,                                                                         \
          "the mask is read transposed: lists of rows and of columns are mixed up")                \
    CAUSE(block_lost, "an active block is left out: any byte but 0 is active, and a list, or the " \
                      "walk over it, may be too short")                                            \
    COST(inactive_read,                                                                            \
         "blocks that the mask leaves out are loaded, or asked about score by score")              \
    CAUSE(place_in_list, "the place of a block in its list is taken for the block's number: look " \
                         "the number up")                                                          \
    CAUSE(list_begin, "a list is read from where none begins: each is a length, and room for as "  \
                      "many blocks as its row or column has")                                      \
    CAUSE(mask_tile,                                                                               \
          "a list is of 128 queries and names blocks of 128 keys, whatever size a tile has")       \
    CAUSE(window_ignored, "keys count that lie outside of the window")                             \
    CAUSE(window_symmetric,                                                                        \
          "a window with `causal` ends at the query, one without reaches as far to both sides")    \
    CAUSE(sinks, "the first keys of the query's document stay visible behind the window, no more " \
                 "and no fewer")                                                                   \
    CAUSE(prefix,                                                                                  \
          "the keys of the document's prefix are never too late: its early queries see them, "     \
          "too, and a window hides them")                                                          \
    CAUSE(document, "a query sees keys of its own document alone: look up each row's, not the "    \
                    "tile's; documents may be empty, and below 0 there is none")                   \
    CAUSE(document_of_head, "documents are a batch's: cu_seqlens has a row for each batch: take "  \
                            "that of the batch of the block's own head")                           \
    CAUSE(tile_bounds,                                                                             \
          "the tiles of one row, or key, are taken for those of a block: from the earliest "       \
          "beginning to the latest end, which may be a sink's")                                    \
    CAUSE(part_unmasked, "a tile that is seen in part is treated as if all of it were seen")       \
    CAUSE(seen_hidden,                                                                             \
          "queries lose keys that they see: a key is seen if from <= key < to, in each tile that " \
          "any of them lies in")                                                                   \
    CAUSE(place_in_tile,                                                                           \
          "a number in the tile, or in a warp's part of it, is taken for one in the sequence: "    \
          "add where it begins")                                                                   \
    CAUSE(hidden_in_one, "hidden pairs count in dV or in dK: both P and dS are 0 there")           \
    CAUSE(softcap, "a score s becomes softcap * tanh(s / softcap), behind the scale")              \
    CAUSE(softcap_late, "a hidden score of -infinity becomes -softcap: cap first, then mask")      \
    CAUSE(softcap_slope, "dS needs the softcap's derivative, 1 - tanh(s / softcap)^2")             \
    COST(masked_read,                                                                              \
         "tiles that the mask hides whole are loaded all the same: begin and end where it does")   \
    /* gradients */                                                                                \
    CAUSE(not_normalised, "P is exp(S - LSE): without LSE its rows do not sum to 1")               \
    CAUSE(not_weighted, "dV = P^T dO: the weights P are missing, or are not P")                    \
    CAUSE(delta, "dS = P * (dP - delta): P or delta is missing, or delta is no row sum of dO * O") \
    CAUSE(gradient_scale, "dQ and dK need the factor scale once each; dV needs none")              \
    CAUSE(tile_skipped,                                                                            \
          "terms are left out: a loop begins late or ends early, or a tile does not "              \
          "come or counts alone")                                                                  \
    CAUSE(tile_twice, "a tile counts twice: two parts of the loop overlap")                        \
    CAUSE(not_repeatable,                                                                          \
          "the same inputs give other bits: the order of a sum depends on who comes first")        \
    CAUSE(workspace_uncleared,                                                                     \
          "what is counted or summed begins with what the workspace held: clear it in each call")  \
    /* cross-entropy */                                                                            \
    CAUSE(label_late,                                                                              \
          "the label's logit is read where the gradient stands already: read it before")           \
    CAUSE(mean_divisor,                                                                            \
          "loss and gradient are a mean: divide both by the number of rows that count")            \
    CAUSE(ignore_index,                                                                            \
          "rows whose label is ignore_index, and only they, do not count: gradient and LSE 0, "    \
          "no part in the mean")                                                                   \
    CAUSE(none_count, "no row counts: the loss is 0, and so are the gradients; 0 / 0 is NaN")      \
    CAUSE(smoothing, "the target is eps / V of every token, and 1 - eps more of the label")        \
    CAUSE(target_missing, "the gradient is softmax minus the target, and the target is missing")   \
    CAUSE(label_bits, "a label has 64 bits: all of them are compared and used")                    \
    CAUSE(label_range,                                                                             \
          "a label that is no token: the loss and the row's gradient are NaN, the row counts")     \
    CAUSE(cut_off, "numbers are cut off to 16 bits: round to the nearest")                         \
    CAUSE(ties, "what lies halfway between two numbers of 16 bits is rounded to the even one")     \
    /* numbers of eight bits */                                                                    \
    CAUSE(amax,                                                                                    \
          "a scale is amax / 448, and amax the largest finite size of all that share it: at "      \
          "least 2^-60, never 0, and neither infinity nor NaN counts")                             \
    CAUSE(saturation,                                                                              \
          "a number beyond 448 becomes 448 with its sign, infinity as well; NaN becomes NaN")      \
    CAUSE(minus_zero, "-0 stays -0: what is added to it on its way, also by an fma, makes it 0")   \
    CAUSE(nearest_of_eight,                                                                        \
          "a number of eight bits is the nearest one, of two as near the even one; below 2^-6 "    \
          "as well, down to 2^-9")                                                                 \
    CAUSE(factor_of_scale,                                                                         \
          "numbers are multiplied by 1.0f / scale, of the scale that is stored: 448 / amax and "   \
          "x / scale are rounded otherwise")                                                       \
    CAUSE(rotation,                                                                                \
          "a row is rotated by sums and differences of neighbours first, at last of halves, then " \
          "times 1 / sqrt(d), and then its amax is taken")                                         \
    CAUSE(scale_of_block,                                                                          \
          "a number of eight bits counts times the scale of its own block, once: that of Q "       \
          "and K in the scores, that of V in O and not in l")                                      \
    CAUSE(weight_factor,                                                                           \
          "P is made 2^8 times as large before it is rounded: l sums the same, and LSE takes "     \
          "it out again")                                                                          \
    CAUSE(max_without_v,                                                                           \
          "the maximum lacks the scale of V: it is the largest of the scores plus log2 of that "   \
          "scale, and then P ends at 2^8")                                                         \
    /* a layer with dropout */                                                                     \
    CAUSE(philox, "the random words are not those of Philox4x32-10: ten rounds, two multipliers, " \
                  "a key that grows")                                                              \
    CAUSE(random_index,                                                                            \
          "a random word belongs to an element, by i N + j: not to a thread, a row or a tile")     \
    CAUSE(other_words, "the random words are others: of another generator, with a slip in "        \
                       "Philox's rounds, or of other elements")                                    \
    CAUSE(word_of_call, "element e has word e % 4 of call e / 4: no word serves twice")            \
    CAUSE(seed_offset, "all 64 bits of the seed are the key, all of offset half of the counter")   \
    CAUSE(mask_inverted, "kept are words of at least p 2^32; the others are dropped")              \
    CAUSE(drop_missing, "nothing is dropped, or everything")                                       \
    CAUSE(drop_limit, "which words are kept is off by a little: compare all 32 bits, with >=")     \
    CAUSE(drop_all, "p = 1 drops everything, whatever it is: 1 / (1 - p) is infinite, and 0 "      \
                    "times that NaN")                                                              \
    CAUSE(drop_chosen, "what is dropped is 0, also if it was NaN: choose, do not multiply")        \
    CAUSE(drop_scale, "what is kept is divided by 1 - p, once, and all else is left as it is")     \
    CAUSE(drop_order, "dropout comes last: f of a scaled number is not f scaled")                  \
    CAUSE(bias, "bias[j] belongs to column j of Z, once, before f")                                \
    CAUSE(gelu_form, "f is another function than the flag asks for")                               \
    CAUSE(gelu_range, "f of a large z is z, of a very negative one 0: infinity over infinity, or " \
                      "times 0, is NaN")                                                           \
    CAUSE(gelu_slope,                                                                              \
          "a gradient behind GELU has the factor Phi(z) + z Phi'(z), of Z, in the forward's form") \
    CAUSE(pre_activation, "Z is what goes into f: the sum with the bias, nothing more")            \
    COST(intermediate, "an array of M x N beside the outputs: finish the sums where they are")     \
    /* pooled scores */                                                                            \
    CAUSE(pool_sum, "R is a sum where a mean belongs: divide by the pool's rows times columns")    \
    CAUSE(pool_largest, "R is the largest weight of a pool, not the mean")                         \
    CAUSE(pool_ragged, "the last pools have fewer rows or columns: they are pools, too, and are "  \
                       "divided by how many exist")                                                \
    CAUSE(pool_hidden, "hidden keys count in the mean of a pool, as weights of 0")                 \
    CAUSE(pool_order, "weights first, then their mean: exp of a mean is not a mean of exp")        \
    CAUSE(pool_rows, "query i belongs to pool i / pool, key j to j / pool, wherever tiles begin")  \
    CAUSE(pool_end, "keys behind the end of a pool count, in its last tile: there the next pool "  \
                    "begins, or zeros do")                                                         \
    /* decoding */                                                                                 \
    CAUSE(merge_weights,                                                                           \
          "parts of a row are added as if each weighed the same: part s counts exp(LSE_s - M) "    \
          "times")                                                                                 \
    CAUSE(merge_base, "parts are weighed in another base than their LSE has: of an LSE in base 2 " \
                      "a part counts exp2(LSE_s - M) times")                                       \
    CAUSE(                                                                                         \
        empty_part,                                                                                \
        "NaN comes out of a merge: a part without keys has the weight 0 (0 / 0 is NaN), weights "  \
        "are relative to the new M, and all that is read is stored")                               \
    CAUSE(length_ignored, "each sequence has a length of its own, lengths[b]")                     \
    CAUSE(page_table,                                                                              \
          "key j is in slot j % page_size of page page_table[b][j / page_size], in rows of "       \
          "max_pages")                                                                             \
    CAUSE(page_layout,                                                                             \
          "in a page the slots of one head lie side by side, and then those of the next head: "    \
          "(pages, H_k, page_size, d)")                                                            \
    CAUSE(ticket_kept,                                                                             \
          "the tickets are not zeros afterwards: who draws the last one puts it back")             \
    CAUSE(last_ticket,                                                                             \
          "tickets were drawn and no block took its own for the last: as many are drawn as parts " \
          "have keys, and the first is 0")                                                         \
    COST(too_few_blocks,                                                                           \
         "one block reads more than its share: split the keys until every multiprocessor has "     \
         "a part")                                                                                 \
    /* host code */                                                                                \
    /* a model's training */                                                                       \
    CAUSE(residual, "where two paths meet in the forward pass, the gradient goes both ways, and "  \
                    "where X went two ways, two gradients are added, each once")                   \
    CAUSE(residual_rounded, "the gradient along the residual path stays in float: only what goes " \
                            "into a product is rounded")                                           \
    CAUSE(backward_order, "a gradient is used before all that belongs to it was added")            \
    CAUSE(layer_input, "the gradient of a layer's weights needs what went into that layer, "       \
                       "computed again where it was not kept")                                     \
    COST(computed_again, "a layer is called, or an array stored, more often than needed")          \
    CAUSE(bias_correction, "m and v are divided by 1 - beta^step, each with its own beta; step "   \
                           "counts from 1")                                                        \
    CAUSE(weight_decay, "decay is decoupled: lr decay w is taken from w, beside Adam's step, for " \
                        "the first n_decayed alone")                                               \
    CAUSE(adam_step, "w moves by lr m^ / (sqrt(v^) + eps), with m and v as they are now; w_bf16 "  \
                     "is the new w")                                                               \
    CAUSE(adam_means, "m and v are means of g and of g^2: beta of the old, 1 - beta of the new")   \
    CAUSE(error_ignored, "a CUDA call failed and the launcher did not return COURSE_CUDA_ERROR")   \
    CAUSE(error_left,                                                                              \
          "the launcher returns an error and leaves it for the next cudaGetLastError() to find")   \
    CAUSE(goes_on, "a layer failed, and those after it were called all the same: return what it "  \
                   "returned, at once")                                                            \
    CAUSE(written_on_error, "an output was written before it was clear that the call succeeds")    \
    CAUSE(leak, "device memory is still allocated when the launcher returns")                      \
    COST(allocates, "the launcher allocates device memory; the contract says that it does not")    \
    CAUSE(waits, "the launcher waits for the device; the contract has it return at once")          \
    CAUSE(other_stream, "a kernel is not in the default stream, which does not wait for it")       \
    CAUSE(other_device, "the launcher works on the device that is current: it chooses none, and "  \
                        "asks about no other")                                                     \
    CAUSE(host_computed, "the result does not come from a kernel: host code made it")              \
    CAUSE(wrong_status, "the launcher returned another status than the contract asks for")         \
    CAUSE(argument_check, "a bad argument was not refused, or an output was written all the same") \
    CAUSE(cuda_error, "the CUDA runtime reported an error")                                        \
    CAUSE(bad_launch, "no GPU takes this launch: mend its grid, its block or its shared memory")   \
    /* what the CPU device's scheduler says */                                                     \
    CAUSE(barrier_divergence, "threads of one block wait at different barriers")                   \
    CAUSE(exited_threads, "some threads returned before a barrier that the others wait at")        \
    CAUSE(bad_mask, "a warp function's mask does not name exactly the lanes that call it, or not " \
                    "one that is read")                                                            \
    CAUSE(diverged_warp, "an instruction of whole warps is not reached by all lanes together")     \
    CAUSE(bad_barrier,                                                                             \
          "a named barrier or an mbarrier is used with a wrong number, count or sum of bytes, or " \
          "again before its phase is over")                                                        \
    CAUSE(deadlock, "threads wait for each other for ever")                                        \
    CAUSE(endless_loop, "a kernel or launcher does not end")                                       \
    CAUSE(too_slow, "the runs of an item, or of the whole grade, take too long together")          \
    CAUSE(bad_address, "a thread used an address outside every array")                             \
    CAUSE(divided_by_zero, "an integer is divided by 0: which size makes the divisor 0?")          \
    CAUSE(stack_overflow,                                                                          \
          "a thread's local arrays are too large, or a function calls itself on and on")           \
    CAUSE(shared_memory, "the block's shared arrays are larger than a block may have")             \
    CAUSE(host_access, "host code used a device pointer: copy with cudaMemcpy")                    \
    CAUSE(host_pointer, "a kernel got a host pointer")                                             \
    CAUSE(assertion, "an assert() in the kernel failed")                                           \
    CAUSE(unsupported, "the code uses what the CPU device does not have")                          \
    /* what the instrumented build finds and counts */                                             \
    CAUSE(race, "two threads use the same memory without a barrier or atomic between them")        \
    CAUSE(async_order, "memory passes between threads, TMA and wgmma without a wait, a fence of "  \
                       "the proxies, or a barrier between them")                                   \
    CAUSE(block_order,                                                                             \
          "right while blocks begin one after the other, wrong in another order: what one block "  \
          "takes from others has to be there")                                                     \
    CAUSE(cached_read, "__ldg() reads what the same kernel has written: its cache hears of no "    \
                       "write, load that without it")                                              \
    CAUSE(copy_on_its_way,                                                                         \
          "a copy by cp.async is still on its way when its place is used again: wait for it")      \
    CAUSE(copy_not_awaited,                                                                        \
          "a tile is read before its copies by cp.async have come: each thread waits for its "     \
          "own, then for all threads")                                                             \
    CAUSE(race_of_writes,                                                                          \
          "two threads write the same element: let one of them do it, or mend the index")          \
    CAUSE(uninitialised, "memory or a variable is read that nothing has written")                  \
    CAUSE(misaligned, "a vector access at an address that is no multiple of its size")             \
    CAUSE(freed, "memory is used after cudaFree")                                                  \
    COST(uncoalesced, "neighbouring lanes touch memory far apart: each request moves too much")    \
    COST(partial_sectors,                                                                          \
         "a warp's stores begin and end inside of sectors: let them begin at a line")              \
    COST(bank_conflicts, "lanes of a warp queue at the same shared-memory bank")                   \
    COST(too_much_read, "the same data is read from global memory again and again")                \
    COST(loaded_again,                                                                             \
         "a tile is loaded from global memory a second time: keep it where it is needed")          \
    COST(too_much_shared,                                                                          \
         "each number from shared memory is used too rarely: let a thread own a block of sums")    \
    COST(narrow_access, "one float at a time where four lie side by side: use float4")             \
    COST(no_tensor_cores, "products are made one by one, not by the tensor cores")                 \
    COST(too_much_written, "more is written to global memory than the result")                     \
    COST(too_many_barriers, "the block waits more often than the algorithm needs")                 \
    COST(quadratic_memory, "scratch memory grows with N_q x N_k: nothing of that size is needed")  \
    COST(row_kept, "a row is kept in memory of the kernel's own, and read there once more")        \
    COST(expanded,                                                                                 \
         "memory of K's size is taken for each query head: the heads of a group can share it")     \
    CAUSE(watched_otherwise, "what runs where accesses are watched is not what runs elsewhere")    \
    CAUSE(no_traffic, "the kernel did not read its inputs or write its outputs")                   \
    /* how a grid runs (lesson 04) */                                                              \
    CAUSE(partial_warp, "a block takes whole warps: 33 threads are two, on every count")           \
    CAUSE(limit_missing,                                                                           \
          "a limit is not asked: blocks, warps, registers and shared memory, the least counts")    \
    CAUSE(register_unit, "a warp gets registers in units of 256: those of its 32 threads, "        \
                         "rounded up")                                                             \
    CAUSE(registers_unknown,                                                                       \
          "0 registers are not known, and no limit: not one register, nor any other number")       \
    CAUSE(register_partition,                                                                      \
          "registers belong to the 4 partitions of a multiprocessor, and each holds whole warps")  \
    CAUSE(shared_unit,                                                                             \
          "a block takes 1024 bytes of shared memory more than it asks for, in units of 128; for " \
          "its own limit counts what it asks for")                                                 \
    CAUSE(never_fits,                                                                              \
          "a block that fits nowhere, or a grid of no blocks, is not told from the others")        \
    CAUSE(last_wave,                                                                               \
          "a wave is what all multiprocessors hold together, and the last may be partly filled")   \
    CAUSE(count_wraps, "a grid may have more blocks than 32 bits count, or a float can tell "      \
                       "apart")                                                                    \
    CAUSE(card_ignored,                                                                            \
          "a limit is a number of the code's own, or was asked of a device: take it "              \
          "from the card")                                                                         \
    /* answers in a text (lesson 21) */                                                            \
    OPEN(no_answer, "nothing stands after the = yet: write a formula or a number")                 \
    CAUSE(bad_formula,                                                                             \
          "the line is not name = formula; the message says where it stops being one")             \
    CAUSE(multiply_add,                                                                            \
          "a multiply-add is two FLOPs, a multiplication and an addition; 4096 to an mma.sync")    \
    CAUSE(                                                                                         \
        products_missing,                                                                          \
        "count the matrix products: 2 in a forward pass, 5 in a backward pass, 7 in a split one")  \
    CAUSE(executed_credited,                                                                       \
          "a split backward executes 7 products and is credited with 5, which are all it needs")   \
    CAUSE(mask_not_counted, "pairs that the mask hides are counted, too")                          \
    CAUSE(triangle, "the triangle is not counted exactly: 1 + 2 + ... + n is n (n + 1) / 2")       \
    CAUSE(window_off_by_one,                                                                       \
          "0 <= i - j < W are W keys, the query's own among them; |i - j| <= W are 2 W + 1")       \
    CAUSE(not_clamped, "a count below 0, or beyond all that is there: use min or max")             \
    CAUSE(partial_tile,                                                                            \
          "a tile that is not full takes as much as a full one (ceil), or as it has rows")         \
    CAUSE(element_size, "an element takes 2 bytes in fp16 and bf16, 4 in fp32")                    \
    CAUSE(array_missing,                                                                           \
          "an array, or one of its ways from or to memory, is left out or too many")               \
    CAUSE(key_heads, "K and V have H_k heads; Q, O and the products have H")                       \
    CAUSE(size_missing, "a size is missing, or stands there once too often")                       \
    CAUSE(upside_down, "a quotient is upside down")                                                \
    CAUSE(wrong_roof, "the slower one decides: of two rates the lower, of two times the longer")   \
    CAUSE(units, "bytes, FLOPs and seconds, without kilo, giga or milli; and no bits")             \
    CAUSE(wrong_formula, "no known mistake fits: count by hand for the small sizes above")         \
    /* a bug to be found (lesson 22) */                                                            \
    CAUSE(other_stride, "rows of one array are found with another array's stride")                 \
    CAUSE(one_card, "the launch asks for what one card has and another has not: ask for what the " \
                    "sizes need")                                                                  \
    COST(local_array,                                                                              \
         "an array of a thread is indexed at run time: it lies in local memory, not in registers") \
    COST(cost_grew, "the cure costs more than the kernel needs")                                   \
    CAUSE(edit_too_long, "more lines differ from the given file than a cure needs")                \
    CAUSE(bug_misnamed, "the kernel is mended; what was wrong with it has another name")           \
    OPEN(bug_not_named,                                                                            \
         "its bug has no name yet: once the constant says what you suspect, right or wrong, "      \
         "findings and causes are shown")                                                          \
    /* what profiles say (lesson 23) */                                                            \
    OPEN(not_answered,                                                                             \
         "an answer is as it was given, LIMITER_NONE or 0: read the table first, then cure")       \
    CAUSE(wrong_limiter,                                                                           \
          "the table shows another limiter: which unit is busy, and if none is, why do "           \
          "warps wait?")                                                                           \
    COST(wrong_speed_up,                                                                           \
         "cured, a kernel takes as long as its next limit lets it: what is that, and how far?")    \
    COST(idle_lanes, "a request serves few lanes: let all 32 lanes of a warp have work")           \
    COST(grid_size, "the grid does not fit the work: few blocks leave multiprocessors idle, and "  \
                    "each block has to have work")                                                 \
    CAUSE(carry_lost,                                                                              \
          "a sum begins anew with each tile: what was reached before is its beginning")            \
    CAUSE(decay_misplaced, "decay multiplies what h was one step before, and nothing else")        \
    CAUSE(decay_sign, "decay may be 0 or below: neither 0 nor |decay| stands for it, and a power " \
                      "of it by logarithms, by __powf() say, is NaN")                              \
    CAUSE(window_stays,                                                                            \
          "the window of the last steps moves on by as many steps as were read: the "              \
          "newest of them stay in it")                                                             \
    CAUSE(halo_missing,                                                                            \
          "a segment begins as if nothing were before it: it needs the steps just before")         \
    CAUSE(nothing_before,                                                                          \
          "before the first step there is nothing: it counts as 0, not as the first step")         \
    CAUSE(tap_order, "w[k] belongs to the step k before: all TAPS of them, the newest first")      \
    /* the process */                                                                              \
    CAUSE(crash, "the program ended before the launcher returned")                                 \
    CAUSE(no_return,                                                                               \
          "a function that has to return a value ends without one: each of its ways needs a "      \
          "return")                                                                                \
    CAUSE(out_of_memory, "the program asked for more memory than a grade may use")                 \
    CAUSE(survivor, "a process outlived the kernel's program and still held its results")          \
    CAUSE(compile_error, "the file does not compile")                                              \
    CAUSE(refused, "the file does something a graded file may not do")

enum cause {
    CAUSE_NONE,
#define CAUSE(id, sentence) CAUSE_##id,
    CAUSES(CAUSE, CAUSE, CAUSE)
#undef CAUSE
        CAUSE_COUNT
};

// The id ("tail_dropped") and the sentence of a cause; "" for CAUSE_NONE.
const char* cause_id(enum cause cause);
const char* cause_sentence(enum cause cause);

// The mistake to mend first has the lowest rank: a wrong answer, one that fits no pattern, a cost,
// a question without an answer.
enum cause_rank { RANK_WRONG, RANK_UNKNOWN, RANK_COST, RANK_OPEN };
enum cause_rank cause_rank(enum cause cause);

// The cause with this id, or CAUSE_NONE.
enum cause cause_from_id(const char* id);

#endif
