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

/* The one of `n` that more than half are equal to; SIZE_MAX: there is none. */
static size_t find_most_place(const struct place *place, size_t n)
{
    size_t most = 0, votes = 0, same = 0;
    for (size_t i = 0; i < n; i++) { /* only one that outnumbers the others is left by this vote */
        most = votes ? most : i;
        votes = same_place(&place[i], &place[most]) ? votes + 1 : votes - 1;
    }
    for (size_t i = 0; i < n; i++)
        same += same_place(&place[i], &place[most]);
    return same * 2 > n ? most : SIZE_MAX;
}

static size_t find_most_count(const int64_t *count, size_t n)
{
    size_t most = 0, votes = 0, same = 0;
    if (n == 2) /* of two the one that sent more is right */
        return count[0] >= count[1] ? 0 : 1;
    for (size_t i = 0; i < n; i++) {
        most = votes ? most : i;
        votes = count[i] == count[most] ? votes + 1 : votes - 1;
    }
    for (size_t i = 0; i < n; i++)
        same += count[i] == count[most];
    return same * 2 > n ? most : SIZE_MAX;
}

/* Writes those of `n` peers that stand elsewhere than most of them; returns how many. */
static size_t find_elsewhere(struct ana_case *c, const size_t *peer, size_t n, size_t *out)
{
    struct place *place = calloc(n, sizeof *place);
    c->memory |= !place;
    for (size_t i = 0; place && i < n; i++)
        place[i] = place_of(c, peer[i]);
    size_t most = place ? find_most_place(place, n) : SIZE_MAX, found = 0;
    for (size_t i = 0; most != SIZE_MAX && i < n; i++)
        if (!same_place(&place[i], &place[most]))
            out[found++] = peer[i];
    free(place);
    return found;
}

/* Writes those of `n` peers that have sent fewer messages to `center` than most of them; returns how many. */
static size_t find_sent_less(struct ana_case *c, size_t center, const size_t *peer, size_t n, size_t *out)
{
    int64_t *count = calloc(n, sizeof *count);
    c->memory |= !count;
    for (size_t i = 0; count && i < n; i++)
        count[i] = ana_messages_sent(c, peer[i], center);
    size_t most = count ? find_most_count(count, n) : SIZE_MAX, found = 0;
    for (size_t i = 0; most != SIZE_MAX && i < n; i++)
        if (count[i] < count[most])
            out[found++] = peer[i];
    for (size_t i = 0; i < found; i++)
        ana_case_evidence(c, "rank %s has sent rank %s fewer messages than the others",
                          ana_rank_label(c->job, out[i]).text, ana_rank_label(c->job, center).text);
    free(count);
    return found;
}

/* The rank of a circle that waits for a message from any source; SIZE_MAX: none. */
static size_t find_center(struct ana_case *c, const size_t *path, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const struct ana_waiting *p = ana_rank_waiting(c, path[i]);
        for (uint32_t k = 0; p && p->tested && k < p->dependencies; k++) {
            const struct ana_dependency *d = &c->dependency[p->first_dependency + k];
            if (d->kind == ANA_DEPENDENCY_MESSAGE && d->peer == TRC_PEER_ANY)
                return path[i];
        }
    }
    return SIZE_MAX;
}

/* Whether a rank waits for this one by name. */
static bool waits_for(struct ana_case *c, size_t index, size_t center, size_t *room)
{
    struct ana_waiting *p = ana_rank_waiting(c, index);
    bool any = false;
    for (uint32_t k = 0; p && k < p->dependencies; k++)
        any |= c->dependency[p->first_dependency + k].kind == ANA_DEPENDENCY_MESSAGE &&
               c->dependency[p->first_dependency + k].peer == TRC_PEER_ANY;
    size_t n = p && !any ? ana_waiting_for(c, p, room, c->count) : 0;
    for (size_t i = 0; i < n; i++)
        if (room[i] == center)
            return true;
    return false;
}

bool ana_blame_deviants(struct ana_case *c, const size_t *path, size_t n)
{
    size_t center = find_center(c, path, n), peers = 0, waiting = 0, found = 0;
    if (center == SIZE_MAX)
        return false;
    size_t *peer = calloc(c->count + 1, sizeof *peer), *out = calloc(c->count + 1, sizeof *out);
    c->memory |= !peer || !out;
    for (size_t i = 0; peer && out && i < c->count; i++)
        if (i != center && ana_rank_knot(c, i) == ana_rank_knot(c, center)) {
            peer[peers++] = i;
            waiting += waits_for(c, i, center, out);
        }
    bool star = peers >= 2 && waiting * 2 > peers;
    if (star)
        found = find_elsewhere(c, peer, peers, out);
    if (star && !found)
        found = find_sent_less(c, center, peer, peers, out);
    for (size_t i = 0; i < found; i++)
        ana_case_blame(c, out[i]);
    if (star && !found)
        ana_case_blame(c, center);
    free(peer);
    free(out);
    return star;
}
