// check.c: lesson 28, graded.
//
// Every item is about one thing, and its data are free of the other items' traps: lengths are
// multiples of 16 except in the items about the last page and on safety, pages have 16 keys except
// in the item about pages, only "sequences of different lengths" has several of them, only "heads
// that share keys" more key heads than one, and d is 128 in the first item alone. More than one
// query, or LSE, are in few others. The two items of the idea have all these traps.
#include "28_flash_decode/arguments.h"
#include "28_flash_decode/mistakes.h"
#include "attention/reach.h"
#include "check/reach.h"
#include "cpu/cards/cards.h"
#include "wall/arena.h"

// A length of whole pages of 16 keys.
static int64_t pages(struct check* c, int64_t fewest, int64_t most) {
    return 16 * check_pick(c, fewest, most);
}

static struct decode with_head_dim(struct decode p, int64_t d) {
    p.d = d;
    p.scale = (double)(1.0f / sqrtf((float)d));
    return p;
}

static struct decode with_lengths(struct decode p, int64_t B, const int64_t* length) {
    p.B = B;
    memcpy(p.length, length, (size_t)B * sizeof *length);
    return p;
}

static struct decode with_queries(struct decode p, int64_t N_q) {
    p.N_q = N_q;
    return p;
}

static struct decode with_key_heads(struct decode p, int64_t H_k) {
    p.H_k = H_k;
    return p;
}

static struct decode with_pages_of(struct decode p, int64_t page_size) {
    p.page_size = page_size;
    return p;
}

// ---- right answers -------------------------------------------------------------------------

static void long_cache(struct check* c) {
    decode_case(decode_of(c, 4, pages(c, 40, 60)), "", JUDGE_O);
    decode_case(with_head_dim(decode_of(c, 4, pages(c, 20, 30)), 128), "", JUDGE_O);
    // On the card of a grade without CARD= there may be more parts than 64, of 128 keys each.
    decode_case(with_pages_of(decode_of(c, 1, pages(c, 530, 560)), 64), "", JUDGE_O);
}

// The first is the shortest: who takes its length for all drops keys, and reads nothing else.
static void lengths_differ(struct check* c) {
    const int64_t first = pages(c, 2, 4);
    const int64_t of_three[] = {first, first + pages(c, 20, 30), first + 16};
    decode_case(with_lengths(decode_of(c, 2, 16), 3, of_three), "", JUDGE_O);
    const int64_t of_eight[] = {16, 32, 48, 64, 48, 32, 16, 512};
    decode_case(with_lengths(decode_of(c, 4, 16), 8, of_eight), "", JUDGE_O);
}

// Sequences, key heads and tiles of rows have their parts at a time, if blocks start in some order.
static void mixed_blocks(struct check* c) {
    const int64_t length = pages(c, 30, 40), lengths[] = {length, length};
    struct decode p = with_lengths(with_key_heads(decode_of(c, 20, 16), 2), 2, lengths);
    decode_case(p, "", JUDGE_O);
    p.is_mixed = true;
    deal_pages(&p);
    decode_name(&p, ", blocks in another order");
    decode_declare(&p);
    check_mix_blocks(c);
    decode_fill(&p);
    check_run(c);
    decode_judge(&p, JUDGE_O);
}

// Tells the launcher of `heads` heads, one key head each, of which the case has the last ones.
static bool heads_reached(struct check* c, const void* problem, int64_t heads) {
    enum { SHOWN = 2 };
    struct decode p = *(const struct decode*)problem;
    p.H_k = SHOWN;
    deal_pages(&p);
    check_case(c, "the last of %d heads, length %d", (int)heads, (int)p.length[0]);
    decode_declare(&p);
    check_vary(c, "H", 0, heads);
    check_vary(c, "H_k", 0, heads);
    struct tensor* const of_heads[] = {p.Q, p.O, p.LSE, p.tickets};
    for (int n = 0; n < 4; n++) check_ends(c, of_heads[n], 1, of_heads[n]->count / SHOWN * heads);
    check_ends(c, p.K, p.pages, p.K->count / p.pages / SHOWN * heads);
    check_ends(c, p.V, p.pages, p.V->count / p.pages / SHOWN * heads);
    check_ends(c, check_tensor(c, "workspace"), 1,
               (int64_t)flash_decode_workspace_bytes(1, 1, (int)heads, (int)heads, (int)p.d) /
                   (int64_t)sizeof(float));
    decode_fill(&p);
    check_run_few_blocks(c);
    check_run(c);
    (void)decode_want(&p);
    return attention_is_last_right(p.O, p.d) && attention_is_last_right(p.LSE, 1);
}

static void many_heads(struct check* c) {
    enum { MOST = 65535, FEWER = 1 << 12 };
    struct decode p = decode_of(c, 1, 32), idle = with_queries(p, 0);
    deal_pages(&idle);
    check_case(c, "%d heads, which are allowed, and no query", MOST);
    check_null_if_empty(c);
    decode_declare(&idle);
    check_vary(c, "H", 0, MOST);
    check_vary(c, "H_k", 0, MOST);
    check_expect(c, COURSE_OK, CAUSE_wrong_status);
    decode_fill(&idle);
    check_run(c);
    check_most(c, MOST, FEWER, heads_reached, &p);
}

static void heads(struct check* c) {
    static const int64_t group[] = {1, 3, 16};
    for (int n = 0; n < 3; n++)
        decode_case(with_key_heads(decode_of(c, group[n], pages(c, 10, 20)), 2 + n % 2), "",
                    JUDGE_O);
    decode_case(with_key_heads(decode_of(c, 132, pages(c, 2, 4)), 2), "", JUDGE_O);
    decode_case(with_key_heads(decode_of(c, 7, 128), 5), "", JUDGE_O);
    mixed_blocks(c);
    many_heads(c);
}

static void last_page(struct check* c) {
    decode_case(decode_of(c, 4, pages(c, 10, 20) + check_pick(c, 1, 7)), "", JUDGE_O);
    decode_case(decode_of(c, 4, pages(c, 2, 3) + check_pick(c, 8, 15)), "", JUDGE_O);
    decode_case(decode_of(c, 4, check_pick(c, 1, 15)), "", JUDGE_O);
}

static void several_queries(struct check* c) {
    decode_case(with_queries(decode_of(c, 1, pages(c, 10, 20)), 8), "", JUDGE_O);
    decode_case(with_queries(decode_of(c, 4, pages(c, 10, 20)), check_pick(c, 2, 4)), "", JUDGE_O);
    decode_case(with_queries(decode_of(c, 3, 16), 5), "", JUDGE_O);
    // All at once: where a sequence and a head begin among several queries, in two tiles of rows.
    const int64_t lengths[] = {pages(c, 20, 30), pages(c, 6, 9)};
    struct decode p = with_key_heads(with_queries(decode_of(c, 5, 16), 4), 2);
    p.judges_tickets = true;
    decode_case(with_lengths(p, 2, lengths), "", JUDGE_O | JUDGE_LSE | JUDGE_TICKETS);
}

// The launcher is told of `pages` pages a sequence. Of 40 sequences only the last one has keys.
static bool table_reached(struct check* c, const void* problem, int64_t told) {
    struct decode p = *(const struct decode*)problem;
    p.B = MOST_BATCHES;
    p.length[p.B - 1] = p.length[0];
    p.length[0] = 0;
    p.told_pages = told;
    deal_pages(&p);
    check_case(c, "a table of %lld pages for each of %d sequences", (long long)told, (int)p.B);
    decode_declare(&p);
    decode_fill(&p);
    check_run_all_blocks(c);
    check_run(c);
    (void)decode_want(&p);
    return attention_is_last_right(p.O, p.d) && attention_is_last_right(p.LSE, 1);
}

static void long_table(struct check* c) {
    enum { MOST = 1 << 26, FEWER = 1 << 12 };  // of 16 slots: all that a contract allows
    struct decode p = decode_of(c, 1, pages(c, 2, 4));
    check_first_indexes(c, MOST - 16 * check_pick(c, 0, 9), FEWER, table_reached, &p);
}

// A case on another card than the grade's.
static void decode_case_on(struct decode p, const char* id, int judged) {
    char name[64];
    deal_pages(&p);
    snprintf(name, sizeof name, ", on a card of %d multiprocessors",
             card_named(id)->multiprocessors);
    decode_name(&p, name);
    check_pose_as(p.check, id);
    decode_declare(&p);
    decode_fill(&p);
    check_run(p.check);
    decode_judge(&p, judged);
}

static void page_sizes(struct check* c) {
    static const int64_t size[] = {32, 48, 256, 1024};
    for (int n = 0; n < 4; n++) {
        int64_t length = size[n] * (n < 2 ? 8 : 1) + 16 * check_pick(c, 1, size[n] / 16 - 1);
        struct decode p = with_pages_of(decode_of(c, 4, length), size[n]);
        p.max_pages = length / 16 + 1;  // who counts pages of 16 finds pages of nobody
        decode_case(p, "", JUDGE_O);
    }
    long_table(c);
}

// No pages and no table: there is nothing to read, and O is 0.
static void no_pages(struct check* c) {
    struct decode p = decode_of(c, 4, 0);
    p.max_pages = p.pages = 0;
    deal_pages(&p);
    check_case(c, "max_pages = 0, without pages and table");
    check_null_if_empty(c);
    decode_declare(&p);
    decode_fill(&p);
    check_run(c);
    decode_judge(&p, JUDGE_O | JUDGE_LSE);
}

// Fewer keys than there are parts, and none at all. What follows the last key is 0, not NaN.
static void short_sequences(struct check* c) {
    struct decode p = decode_of(c, 4, pages(c, 1, 3));
    p.max_pages = MOST_PAGES;
    decode_case(p, ", max_pages = 520", JUDGE_O);
    p.length[0] = 0;
    decode_case(p, ", max_pages = 520", JUDGE_O | JUDGE_LSE);
    p = with_queries(decode_of(c, 2, 2), 4);
    p.zero_tail = true;
    decode_case(p, ", more queries than keys", JUDGE_O);
    no_pages(c);
}

static void logsumexp(struct check* c) {
    decode_case(decode_of(c, 3, pages(c, 10, 20)), "", JUDGE_LSE);
    decode_case(with_queries(decode_of(c, 4, pages(c, 10, 20)), 3), "", JUDGE_LSE);
}

// Sets column 0 of all queries, and of all keys from key `from` on.
static void set_level_from(struct decode* p, double q, int64_t from, double k) {
    for (int64_t e = 0; e < p->Q->count; e += p->d) p->Q->value[e] = q;
    for (int64_t j = from; j < p->length[0]; j++) row_of_key(p, p->K, 0, 0, j)[0] = k;
}

static void hard_scores(struct check* c) {
    struct decode p = decode_of(c, 4, pages(c, 40, 50));
    p.scale = (double)(float)(p.scale * (check_pick(c, 0, 1) ? 0.4 : 1.8));
    decode_case(p, ", a scale of its own", JUDGE_O);

    p = decode_of(c, 4, pages(c, 40, 50));
    decode_begin(&p, ", scores of 30 times the usual size");
    for (int64_t e = 0; e < p.Q->count; e++) p.Q->value[e] *= 30;
    check_run(c);
    decode_judge(&p, JUDGE_O);

    for (int sign = 1; sign >= -1; sign -= 2) {
        p = decode_of(c, 4, pages(c, 40, 50));
        decode_begin(&p, sign > 0 ? ", scores near 200" : ", scores near -200");
        set_level_from(&p, 16, 0, sign * 100);
        check_run(c);
        decode_judge(&p, JUDGE_O);
    }

    // As low as scores are: -2^125, in every other row. An LSE of that size does not hold how many
    // keys a part has, so all values of a column are the same.
    p = decode_of(c, 4, pages(c, 10, 12));
    p.scale = 0x1p97;
    decode_begin(&p, ", all scores -2^125 in every other row, and 0 in the others");
    for (int64_t e = 0; e < p.Q->count; e++)
        p.Q->value[e] = e % p.d == 0 && e / p.d % 2 ? 0x1p14 : 0;
    const double* V = row_of_key(&p, p.V, 0, 0, 0);
    for (int64_t j = 0; j < p.length[0]; j++)
        for (int64_t x = 0; x < p.d; x++) {
            row_of_key(&p, p.K, 0, 0, j)[x] = x == 0 ? -0x1p14 : 0;
            row_of_key(&p, p.V, 0, 0, j)[x] = V[x];
        }
    check_run(c);
    decode_judge(&p, JUDGE_O);

    // The parts are up to 127, and cancel: their mean is a thousandth of that.
    p = decode_of(c, 4, 1024);
    decode_begin(&p, ", all scores 0, and values that cancel");
    fill_integers(c, p.Q, 0, 0);
    for (int64_t j = 0; j < p.length[0]; j++)
        for (int64_t x = 0; x < p.d; x++)
            row_of_key(&p, p.V, 0, 0, j)[x] = (double)(check_pick(c, 65, 127) * (j < 512 ? 1 : -1));
    check_run(c);
    decode_judge(&p, JUDGE_O);
}

// One head first, whose keys may be split more often than the next call's workspace has room for,
// and which shares its keys with no other.
static void after_one_head(struct check* c) {
    struct decode p = with_key_heads(decode_of(c, 2, 144), 64), first;
    p.max_pages = MOST_PAGES;
    deal_pages(&p);
    decode_name(&p, ", after a call of one head");
    check_rounds(c, 2);
    decode_declare(&p);
    first = p;
    first.H_k = first.group = 1;
    check_vary(c, "H", 0, 1);
    check_vary(c, "H_k", 0, 1);
    check_round(c, 0);
    decode_fill(&first);
    check_round(c, 1);
    decode_fill(&p);
    check_run(c);
    check_round(c, 1);
    decode_judge(&p, JUDGE_O);
}

// Other lengths and other pages in each call, in the same arrays; the tickets are zeros again.
static void again(struct check* c) {
    enum { CALLS = 3 };
    static const int64_t length[CALLS] = {160, 640, 320};
    struct decode call[CALLS];
    for (int r = 0; r < CALLS; r++) {
        call[r] = decode_of(c, 4, length[r]);
        call[r].max_pages = 42, call[r].pages = 52;
        call[r].judges_tickets = true;
        deal_pages(&call[r]);
    }
    decode_name(&call[0], ", and others in later calls");
    check_rounds(c, CALLS);
    decode_declare(&call[0]);
    for (int r = 0; r < CALLS; r++) {
        check_round(c, r);
        decode_share(&call[r], &call[0]);
        decode_fill(&call[r]);
    }
    check_run(c);
    for (int r = 0; r < CALLS; r++) {
        check_round(c, r);
        check_describe(c, &call[r]);
        decode_judge(&call[r], JUDGE_O | JUDGE_TICKETS);
    }
    after_one_head(c);
}

// ---- inside --------------------------------------------------------------------------------

// A pool of one page, which is not full: who copies all of it, and hides the scores, reads slots
// behind the last key.
static void one_page(struct check* c) {
    struct decode p = with_pages_of(decode_of(c, 2, 16 * check_pick(c, 1, 3) + 9), 64);
    p.pages = 1;
    decode_begin(&p, ", a page that is not full, of whose end nobody reads");
    check_unread(p.K, 1, p.length[0] * p.d), check_unread(p.V, 1, p.length[0] * p.d);
    check_run(c);
    decode_judge(&p, JUDGE_O);
}

// Behind the end the table names no pages, or ends, always in the middle of 32 keys: whoever takes
// tiles of so many for full asks for a page more. The last page is not full. Of four queries the
// first do not see the last tile, of 16 keys or 32, nor all of the one before. 64 heads with room
// for hundreds of pages: the workspace has 32 parts for each, and keys need not be split.
static void safe(struct check* c) {
    check_watch(c, WATCH_CHECK);
    struct decode p = with_queries(decode_of(c, 4, 32 * check_pick(c, 20, 25) + 1), 4);
    p.nowhere = p.zero_tail = true;
    decode_case(p, "", JUDGE_O);
    p = decode_of(c, 4, 32 * check_pick(c, 10, 20) + check_pick(c, 1, 15));
    p.max_pages = CEIL_DIV(p.length[0], 16);
    p.zero_tail = true;
    decode_begin(&p, ", a table without more; table, lengths and tickets begin 4 bytes later");
    check_begin_later(p.table, 1), check_begin_later(p.lengths, 1);
    check_begin_later(p.tickets, 1);
    check_run(c);
    decode_judge(&p, JUDGE_O);
    const int64_t length = 32 * check_pick(c, 5, 7) + 16, lengths[] = {length, length, length};
    p = with_lengths(decode_of(c, 2, 16), check_pick(c, 2, 3), lengths);
    const int64_t used = pages_used(&p, 0);
    p.max_pages = used + check_pick(c, 2, 5);
    decode_begin(&p, ", a table with more, which nobody reads");
    check_unread(p.table, p.B, used);
    check_run(c);
    decode_judge(&p, JUDGE_O);
    one_page(c);
    p = with_key_heads(decode_of(c, 1, 144), 64);
    p.max_pages = MOST_PAGES;
    decode_case(p, ", max_pages = 520", JUDGE_O);
    decode_case_on(with_key_heads(decode_of(c, 1, 272), card_named("l4")->multiprocessors), "l4",
                   JUDGE_O);
    // Of so many heads the workspace has room for six parts each, and the last sequence has a few.
    int64_t last_alone[MOST_BATCHES] = {0};
    last_alone[MOST_BATCHES - 1] = 16 * check_pick(c, 17, 20);
    decode_case(with_lengths(with_key_heads(decode_of(c, 1, 0), 8), MOST_BATCHES, last_alone), "",
                JUDGE_O);
    // The table names more tiles of keys than the workspace has room for parts.
    p = with_pages_of(decode_of(c, 1, 16 * check_pick(c, 50, 60)), 4096);
    p.max_pages = MOST_PAGES;
    decode_case_on(p, "h200", JUDGE_O);
}

// What lies between the pages is not there. They are so many that the number of a row of the pool,
// 2^26 from page to page, needs more than 31 bits, too.
static void far_pages(struct check* c) {
    if (!check_can_be_far(c)) {
        decode_case(decode_of(c, 4, 160), "", JUDGE_O);
        return;
    }
    struct decode p = decode_of(c, 4, pages(c, 34, 38));
    p.is_far = true;
    decode_case(p, ", pages more than 2^32 elements apart", JUDGE_O);
}

// p behind a call of many sequences without keys, among which the card's blocks are divided.
static void decode_after_many(struct decode p, const char* id) {
    enum { BEFORE = 32 };  // the workspace is as large as p's
    char name[80];
    deal_pages(&p);
    snprintf(name, sizeof name, ", on a card of %d multiprocessors, after a call of %d sequences",
             card_named(id)->multiprocessors, BEFORE);
    decode_name(&p, name);
    check_pose_as(p.check, id);
    check_rounds(p.check, 2);
    struct decode first = p;
    first.B = BEFORE, first.length[0] = 0;
    decode_declare(&first);
    check_vary(p.check, "B", 1, p.B);
    decode_share(&p, &first);
    check_round(p.check, 0);
    decode_fill(&first);
    check_round(p.check, 1);
    decode_fill(&p);
    struct tensor* const of_all[] = {p.Q, p.table, p.lengths, p.O, p.LSE};
    for (int n = 0; n < 5; n++)
        for (int64_t e = of_all[n]->count / BEFORE; e < of_all[n]->count; e++)
            of_all[n]->untouched[e] = true;
    check_run(p.check);
    check_round(p.check, 1);
    check_describe(p.check, &p);
    decode_judge(&p, JUDGE_O);
}

// On a card with so many multiprocessors no block reads more than twice as much as each of them has
// to read: then at least half of them read at any time. Of several launches, which run one after
// the other, the blocks that read most count together. Q and the parts that are merged are a small
// share of that.
static void judge_share(struct decode p, const char* id) {
    struct check* c = p.check;
    decode_after_many(p, id);
    check_at_most(c, CAUSE_too_few_blocks,
                  "bytes that one block reads, of a multiprocessor's share",
                  (double)check_traffic(c)->serial_read_bytes /
                      (4.0 * (double)(p.length[0] * p.H_k * p.d) / card_named(id)->multiprocessors),
                  2);
}

// The launcher is told of room for 2^24 keys. If fewer blocks run at a time than half as many as
// there are multiprocessors, some reads more than twice a multiprocessor's share, once the room is
// full. Kernels run one after the other, so the largest grid counts.
static void count_blocks(struct decode p, const char* id) {
    p.told_pages = 1 << 20;
    deal_pages(&p);
    decode_case_on(p, id, JUDGE_O);
    check_at_most(p.check, CAUSE_too_few_blocks, "multiprocessors for each block",
                  card_named(id)->multiprocessors / (double)check_largest_grid(p.check), 2);
}

// The same of 2 or 3 sequences, whose rows of the table are there: with room for 8320 keys each.
static void count_blocks_of_sequences(struct check* c) {
    static const int64_t few[] = {48, 17, 48};
    struct decode p = with_lengths(decode_of(c, 4, 16), check_pick(c, 2, 3), few);
    p.max_pages = MOST_PAGES;
    decode_case_on(p, "l4", JUDGE_O);
    check_at_most(c, CAUSE_too_few_blocks, "multiprocessors for each block",
                  card_named("l4")->multiprocessors / (double)check_largest_grid(c), 2);
}

static void enough_blocks(struct check* c) {
    check_watch(c, WATCH_PROFILE);
    // What is wrong shows in a short sequence, and is explained there.
    decode_case_on(decode_of(c, 1, 304), "l4", JUDGE_O);
    count_blocks(decode_of(c, 1, 48), CARD_NEWER);
    // For several queries, and for wide heads that share keys, a launcher may have other kernels.
    struct decode heads = with_key_heads(with_queries(decode_of(c, 4, 48), 2), check_pick(c, 1, 4));
    count_blocks(with_head_dim(heads, 128), CARD_NEWER);
    count_blocks_of_sequences(c);
    struct decode p = with_pages_of(decode_of(c, 1, 14848 - 16 * check_pick(c, 0, 16)), 64);
    // More than twice as many pages as hold keys: these are split, not the room.
    p.max_pages = MOST_PAGES;
    judge_share(p, "l4");
}

// Every key and its value once for all heads of a group, and what is small beside them: Q and the
// table. Parts of the sums may be half as many bytes; each is stored once and read by the block
// that merges, by threads in pieces of 4 bytes at least, of which two to eight share a sector.
static void read_once(struct check* c) {
    check_watch(c, WATCH_PROFILE);
    const int64_t length[] = {pages(c, 40, 50), pages(c, 25, 30), pages(c, 30, 40)};
    for (int n = 0; n < 2; n++) {
        struct decode p = n ? with_queries(decode_of(c, 5, 1600), 3) : decode_of(c, 8, 0);
        p = with_head_dim(p, n ? 128 : 64);
        if (n == 1) p.page_size = 64;
        if (n == 0) p = with_lengths(with_key_heads(p, 2), check_pick(c, 2, 3), length);
        decode_case(p, "", JUDGE_O | JUDGE_LSE);
        double K_and_V = 0;
        for (int64_t b = 0; b < p.B; b++) K_and_V += 4.0 * (double)(p.length[b] * p.H_k * p.d);
        const struct arena_traffic* t = check_traffic(c);
        const double parts = (double)t->global_store_bytes;  // and O, LSE
        // Each block may read its rows of Q, in as many blocks as there are tiles of 16 keys.
        const double tiles = K_and_V / (4.0 * UNIT * (double)p.d);
        const double of_Q = fmin((double)check_blocks(c), tiles) * 2.0 *
                            (double)(p.N_q * p.group < UNIT ? p.N_q * p.group : UNIT) * (double)p.d;
        check_at_most(c, CAUSE_too_much_read, "times that blocks read K and V",
                      ((double)t->block_read_bytes - parts - of_Q) / K_and_V, 1.5);
        check_at_most(c, CAUSE_too_much_read, "times that threads read K and V",
                      (32.0 * (double)t->global_load_sectors - 4 * parts) / K_and_V, 1.5);
        check_loaded_once(c, "K_pages");
        check_loaded_once(c, "V_pages");
    }
}

static const struct item items[] = {
    {6, "one query and a long cache, d = 64 and 128", long_cache},
    {5, "sequences of different lengths", lengths_differ},
    {5, "heads that share keys", heads},
    {5, "a last page that is not full", last_page},
    {5, "several queries", several_queries},
    {4, "pages of other sizes", page_sizes},
    {4, "short sequences, and empty ones", short_sequences},
    {3, "LSE", logsumexp},
    {4, "hard scores, any scale", hard_scores},
    {3, "called again, with other lengths", again},
    {2, "empty inputs and bad arguments", arguments},
    {4, "no races, no stray accesses", safe},
    {2, "pages anywhere in memory", far_pages},
    {40, "enough blocks for every multiprocessor", enough_blocks},
    {8, "K and V are read once for a group of heads", read_once},
    {0},
};

const struct lesson lesson = {
    .name = "28_flash_decode",
    .promises = ALLOCATES_NOTHING | DEFAULT_STREAM | DOES_NOT_WAIT,
    .items = items,
    .idea = {.what = "keys split over enough blocks, and each read once for a group of heads",
             .paid_by = {enough_blocks, read_once},
             .naive = "solutions/28_flash_decode/steps/2_one_block.cu"},
    .explain = explain,
    .explain_nothing = explain_nothing_written};
