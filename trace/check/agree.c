/* Agreement of the ranks of one collective. */
#include "trace/check/check_impl.h"
#include "trace/relations/partners.h"
#include <inttypes.h>
#include <string.h>

#define CANDIDATES 64u /* ranks whose terms may be the majority's */

enum difference { SAME, CALLS, ROOTS, OPERATIONS, TYPES, BYTES };

/* The length of a call's name without the ending of 64-bit counts. */
static size_t core(const char *name)
{
    size_t n = strlen(name);
    return n > 2 && memcmp(name + n - 2, "_c", 2) == 0 ? n - 2 : n;
}

static bool same_call(const struct trc_call *a, const struct trc_call *b)
{
    size_t n = core(a->name);
    return a == b || (n == core(b->name) && memcmp(a->name, b->name, n) == 0);
}

static bool is_compared(const struct ana_act *act)
{
    return !act->comm->def.remote_size && !(act->sig.flags & TRC_SIG_FAILED);
}

/* The value that must be equal on all ranks; TRC_BYTES_UNKNOWN: nothing. */
static uint64_t contribution(const struct ana_act *act)
{
    return ana_agreed_bytes(act->call, act->sig.sent, act->sig.received);
}

/* Whether the basic types differ of what both send, or both receive. */
static bool types_differ(struct ana_check *c, const struct ana_act *a, const struct ana_act *b, const char **text)
{
    const struct trc_sig *x = &a->sig, *y = &b->sig;
    bool one = trc_opclass_agreed(a->call->opclass) == TRC_AGREED_LARGER; /* some send it, the others receive it */
    if (one)
        return !ana_same_types(c, a, 0, x->sent + x->received, b, 0, y->sent + y->received, text);
    return !ana_same_types(c, a, 0, x->sent, b, 0, y->sent, text) ||
           !ana_same_types(c, a, 1, x->received, b, 1, y->received, text);
}

static enum difference compare(struct ana_check *c, const struct ana_act *a, const struct ana_act *b)
{
    const char *text[2];
    if (!same_call(a->call, b->call))
        return CALLS;
    if (!is_compared(a) || !is_compared(b))
        return SAME;
    if (trc_opclass_is_rooted(a->call->opclass) && a->sig.peer >= 0 && b->sig.peer >= 0 && a->sig.peer != b->sig.peer)
        return ROOTS;
    enum trc_reduction p = ana_operation_of(c, a), q = ana_operation_of(c, b);
    if (p && q && p != q)
        return OPERATIONS;
    if (types_differ(c, a, b, text))
        return TYPES;
    uint64_t x = contribution(a), y = contribution(b);
    return x != y && x != TRC_BYTES_UNKNOWN && y != TRC_BYTES_UNKNOWN ? BYTES : SAME;
}

/* The act that most ranks agree with. */
static const struct ana_act *usual(struct ana_check *c, const struct ana_act *const *act, size_t n)
{
    size_t best = 0, most = 0;
    for (size_t i = 0; i < n && i < CANDIDATES && most * 2 <= n; i++) {
        size_t agree = 0;
        for (size_t k = 0; k < n; k++)
            agree += compare(c, act[i], act[k]) == SAME;
        if (agree > most) {
            most = agree;
            best = i;
        }
    }
    return act[best];
}

static void report(struct ana_check *c, const struct ana_act *odd, const struct ana_act *like)
{
    const struct ana_act *both[] = {odd, like};
    const char *text[2];
    switch (compare(c, odd, like)) {
    case CALLS:
        ana_found_add(c, ANA_CHECK_COLLECTIVE, both, 2, "different calls");
        break;
    case ROOTS:
        ana_found_add(c, ANA_CHECK_COLLECTIVE, both, 2, "roots %d and %d", odd->sig.peer, like->sig.peer);
        break;
    case OPERATIONS:
        ana_found_add(c, ANA_CHECK_COLLECTIVE, both, 2, "%s and %s", trc_reduction_name(ana_operation_of(c, odd)),
                      trc_reduction_name(ana_operation_of(c, like)));
        break;
    case TYPES:
        types_differ(c, odd, like, text);
        ana_found_add(c, ANA_CHECK_COLLECTIVE, both, 2, "datatypes %s and %s", text[0], text[1]);
        break;
    case BYTES:
        ana_found_add(c, ANA_CHECK_COLLECTIVE, both, 2, "%" PRIu64 " and %" PRIu64 " bytes", contribution(odd),
                      contribution(like));
        break;
    case SAME:
        break;
    }
}

/* Compares the data that one rank (the root, or any) sends with the data another receives. */
static void compare_ways(struct ana_check *c, const struct ana_act *const *act, size_t n)
{
    const struct ana_act *root = act[0], *other = act[n - 1];
    const char *text[2];
    enum trc_opclass opclass = root->call->opclass;
    bool scatters = opclass == TRC_OP_SCATTER, rooted = scatters || opclass == TRC_OP_GATHER;
    for (size_t i = 0; rooted && i < n; i++)
        if (act[i]->sig.peer == ana_job_rank(c->job, act[i]->rank)->rank) {
            root = act[i];
            other = act[i == 0 ? n - 1 : 0];
        }
    if ((!rooted && opclass != TRC_OP_ALLGATHER && opclass != TRC_OP_ALLTOALL) || !is_compared(root) ||
        !is_compared(other))
        return;
    const struct ana_act *both[] = {scatters ? root : other, scatters ? other : root};
    if (!ana_same_types(c, both[0], 0, both[0]->sig.sent, both[1], 1, both[1]->sig.received, text))
        ana_found_add(c, ANA_CHECK_COLLECTIVE, both, 2, "%s is sent, %s received", text[0], text[1]);
}

/* Compares the bytes sent with the bytes received if each rank has counts of its own. */
static void compare_sums(struct ana_check *c, const struct ana_act *const *act, size_t n)
{
    uint64_t sent = 0, received = 0, at_root = TRC_BYTES_UNKNOWN;
    enum trc_opclass opclass = act[0]->call->opclass;
    bool gather = opclass == TRC_OP_GATHER, scatter = opclass == TRC_OP_SCATTER;
    for (size_t i = 0; i < n; i++) {
        if (!is_compared(act[i]))
            return;
        sent += act[i]->sig.sent;
        received += act[i]->sig.received;
        if (act[i]->sig.peer == ana_job_rank(c->job, act[i]->rank)->rank)
            at_root = gather ? act[i]->sig.received : act[i]->sig.sent;
    }
    if (gather || opclass == TRC_OP_ALLGATHER)
        received = gather ? at_root : act[0]->sig.received;
    else if (scatter)
        sent = at_root;
    else if (opclass != TRC_OP_ALLTOALL)
        return;
    if (sent != received && sent != TRC_BYTES_UNKNOWN && received != TRC_BYTES_UNKNOWN)
        ana_found_add(c, ANA_CHECK_COLLECTIVE, act, n, "%" PRIu64 " bytes are sent, %" PRIu64 " received", sent,
                      received);
}

void ana_check_agree(struct ana_check *c, const struct ana_act *const *act, size_t n, bool all)
{
    bool same = true;
    for (size_t i = 1; i < n && same; i++)
        same = compare(c, act[0], act[i]) == SAME;
    if (same && all) {
        compare_sums(c, act, n);
        compare_ways(c, act, n);
    }
    const struct ana_act *like = same ? NULL : usual(c, act, n);
    for (size_t i = 0; i < n && !same; i++)
        report(c, act[i], like);
}
