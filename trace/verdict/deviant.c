/* Who differs from its peers, where one rank waits for a message from any of many and they wait for it: one that waits
 * for something else, or has sent it fewer messages than they have. */
#include "trace/verdict/verdict_impl.h"
#include <stdlib.h>
#include <string.h>

/* What a rank is in, so that ranks at one place are equal. */
struct place {
    const char *call;
    int32_t peer, source, rtag;
};

static struct place place_of(struct ana_case *c, size_t index)
{
    const struct ana_waiting *p = ana_rank_waiting(c, index);
    if (!p)
        return (struct place){0};
    return (struct place){p->call->name, p->sig->peer, p->sig->source, p->sig->rtag};
}

static bool same_place(const struct place *a, const struct place *b)
{
    if (!a->call || !b->call)
        return a->call == b->call;
    return strcmp(a->call, b->call) == 0 && a->peer == b->peer && a->source == b->source && a->rtag == b->rtag;
}

static size_t same_places(const struct place *place, size_t n, size_t i)
{
    size_t same = 0;
    for (size_t k = 0; k < n; k++)
        same += same_place(&place[i], &place[k]);
    return same;
}

static size_t same_counts(const int64_t *count, size_t n, size_t i)
{
    size_t same = 0;
    for (size_t k = 0; k < n; k++)
        same += count[k] == count[i];
    return n == 2 ? n * (count[i] >= count[1 - i]) : same; /* of two the one that sent more is right */
}

/* Of `n` peers those that stand elsewhere than most; the present ones are replaced.  0: there are no most. */
static size_t elsewhere(struct ana_case *c, const size_t *peer, size_t n, size_t *out)
{
    struct place *place = calloc(n, sizeof *place);
    size_t most = SIZE_MAX, found = 0;
    for (size_t i = 0; place && i < n; i++)
        place[i] = place_of(c, peer[i]);
    for (size_t i = 0; place && i < n && most == SIZE_MAX; i++)
        most = same_places(place, n, i) * 2 > n ? i : SIZE_MAX;
    for (size_t i = 0; most != SIZE_MAX && i < n; i++)
        if (!same_place(&place[i], &place[most]))
            out[found++] = peer[i];
    free(place);
    return found;
}

/* Those that have sent fewer messages to `center` than most. */
static size_t sent_less(struct ana_case *c, size_t center, const size_t *peer, size_t n, size_t *out)
{
    int64_t *count = calloc(n, sizeof *count);
    size_t most = SIZE_MAX, found = 0;
    for (size_t i = 0; count && i < n; i++)
        count[i] = ana_messages_sent(c, peer[i], center);
    for (size_t i = 0; count && i < n && most == SIZE_MAX; i++)
        most = same_counts(count, n, i) * 2 > n ? i : SIZE_MAX;
    for (size_t i = 0; most != SIZE_MAX && i < n; i++)
        if (count[i] < count[most])
            out[found++] = peer[i];
    for (size_t i = 0; i < found; i++)
        ana_case_evidence(c, "rank %s has sent rank %s fewer messages than the others",
                          ana_rank_label(c->job, out[i]).text, ana_rank_label(c->job, center).text);
    free(count);
    return found;
}

bool ana_blame_deviants(struct ana_case *c, const size_t *path, size_t n)
{
    size_t center = SIZE_MAX, peers = 0, found;
    const struct ana_dependency *any = NULL;
    for (size_t i = 0; i < n && !any; i++) {
        const struct ana_waiting *p = ana_rank_waiting(c, path[i]);
        for (uint32_t k = 0; p && p->tested && k < p->dependencies && !any; k++) {
            const struct ana_dependency *d = &c->dependency[p->first_dependency + k];
            any = d->kind == ANA_DEPENDENCY_MESSAGE && d->peer == TRC_PEER_ANY ? d : NULL;
            center = any ? path[i] : SIZE_MAX;
        }
    }
    size_t *peer = any ? calloc(2 * c->count + 2, sizeof *peer) : NULL, *out = peer + c->count + 1;
    for (size_t i = 0; peer && i < c->count; i++)
        if (i != center && c->knot[i])
            peer[peers++] = i;
    if (peers < 2) {
        free(peer);
        return false;
    }
    found = elsewhere(c, peer, peers, out);
    if (!found)
        found = sent_less(c, center, peer, peers, out);
    for (size_t i = 0; i < found; i++)
        ana_case_blame(c, out[i]);
    if (!found)
        ana_case_blame(c, center);
    free(peer);
    return true;
}
