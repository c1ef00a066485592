// handed.c: results that host code makes and sends. See run/handed.h.
#include <errno.h>
#include <string.h>
#include <sys/random.h>

#include "base/dtype.h"
#include "check/state.h"

static uint32_t bits_of(double value) {
    const float single = (float)value;
    uint32_t bits;
    memcpy(&bits, &single, sizeof bits);
    return bits;
}

// The number that arrives in place of `value`: any other from 0.125 to 8, and the opposite for the
// opposite number. The key does not follow from the grade's seed, which a student may know.
static double other(double value, uint64_t key) {
    const uint32_t sign = 0x80000000u, bits = bits_of(value);
    uint64_t x = ((bits & ~sign) ^ key) * 0x9e3779b97f4a7c15ull;
    x = (x ^ x >> 29 ^ (key << 32 | key >> 32)) * 0xbf58476d1ce4e5b9ull;
    x = (x ^ x >> 32) * 0x94d049bb133111ebull;
    x ^= x >> 31;
    const uint32_t exponent = 124 + (uint32_t)(x >> 32) % 6;
    const uint32_t arrives = ((uint32_t)x & 0x807fffffu) | exponent << 23;
    const uint32_t with_sign = arrives ^ (bits & sign);
    float single;
    memcpy(&single, &with_sign, sizeof single);
    return value == 0 ? value : (double)single;
}

void check_hand_over(struct check* c, struct tensor* const* t, int count) {
    uint64_t key;
    if (c->rounds != 1) check_error(c, "check_hand_over() in several calls");
    if (getrandom(&key, sizeof key, 0) != sizeof key)
        check_error(c, "no random numbers: %s", strerror(errno));
    for (int i = 0; i < count; i++) {
        if (t[i]->dtype != F32 || !t[i]->state->on_host)
            check_error(c, "check_hand_over() of %s", t[i]->name);
        t[i]->state->handed = check_allocate(c, t[i]->count, sizeof(double));
        for (int64_t k = 0; k < t[i]->count; k++)
            t[i]->state->handed[k] = other(dtype_round(F32, t[i]->value[k]), key);
    }
}

const double* check_handed(const struct tensor* t) {
    return t->state->handed;
}

static int64_t bytes_of(const struct tensor* t) {
    return t->count * dtype_size(t->dtype);
}

// A quarter of t: no launcher says that much by the arguments of a few kernels.
bool check_may_be_sent(struct check* c, const struct tensor* t) {
    if (c->session->log)
        fprintf(c->session->log, "   %lld bytes went to the device beside the inputs\n",
                (long long)c->answer.own[c->round]);
    return c->answer.own[c->round] > bytes_of(t) / 4;
}

// To know what arrives, a launcher has to send all inputs. A number that has arrived has 26 bits
// that it does not know, and t has two for each element: 1.6 times as much as t has to come back.
// And then the sums have to be sent.
void check_not_fetched(struct check* c, const struct tensor* t) {
    enum { FEW = 1024 };
    const int64_t bytes = bytes_of(t), back = c->answer.back[c->round];
    const int64_t sent = c->answer.sent[c->round];
    int64_t inputs = 0;
    for (int i = 0; i < c->tensor_count; i++)
        if (c->state[i].handed) inputs += bytes_of(&c->tensor[i]);
    if (c->session->log)
        fprintf(c->session->log,
                "   %lld bytes came back before the last kernel, %lld went there\n",
                (long long)back, (long long)sent);
    if (back <= bytes + bytes / 4 + FEW || sent <= inputs + bytes / 4 + FEW) return;
    check_fail(
        c, CAUSE_host_computed,
        "%lld bytes came back to the host before the last kernel began, and %lld went to the "
        "device; %s has %lld, the inputs have %lld",
        (long long)back, (long long)sent, t->name, (long long)bytes, (long long)inputs);
}
