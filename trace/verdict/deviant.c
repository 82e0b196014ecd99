/* Finds deviants among peers, where one rank waits for a message from any of many and they wait for it: one that
 * waits for something else, or has sent it fewer messages than they have. */
#include "trace/util/hash.h"
#include "trace/verdict/differs.h"
#include "trace/verdict/last_events.h"

/* The place of a rank, as terms: ranks at one place are equal. */
static struct ana_agreed place_of(struct ana_case *c, size_t index)
{
    const struct ana_waiting *p = ana_rank_waiting(c, index);
    struct ana_agreed place = {.who = index};
    if (p)
        place = (struct ana_agreed){
            {ana_hash_text(p->call->name), (uint32_t)p->sig->peer, (uint32_t)p->sig->source, (uint32_t)p->sig->rtag},
            index};
    return place;
}

/* Finds the terms on which more than half agree; false: there are none. */
static bool find_most(struct ana_case *c, const struct ana_agreed *all, size_t n, struct ana_agreed *most)
{
    struct ana_difference d;
    c->memory |= !ana_find_difference(all, n, &d);
    *most = d.most;
    return (n - d.odds) * 2 > n;
}

/* Writes the peers, of `n`, that stand elsewhere than most; returns how many. */
static size_t find_elsewhere(struct ana_case *c, const size_t *peer, size_t n, size_t *out)
{
    struct ana_agreed *place = ana_case_keep(c, n * sizeof *place), most;
    size_t found = 0;
    for (size_t i = 0; place && i < n; i++)
        place[i] = place_of(c, peer[i]);
    bool known = place && find_most(c, place, n, &most);
    for (size_t i = 0; known && i < n; i++)
        if (!ana_agree(&place[i], &most))
            out[found++] = peer[i];
    return found;
}

/* Writes the peers, of `n`, that have sent fewer messages to `center` than most; returns how many. */
static size_t find_sent_less(struct ana_case *c, size_t center, const size_t *peer, size_t n, size_t *out)
{
    struct ana_agreed *sent = ana_case_keep(c, n * sizeof *sent), most;
    size_t found = 0;
    for (size_t i = 0; sent && i < n; i++) /* an unknown count, -1, is ANA_AGREES_WITH_ALL */
        sent[i].term[0] = (uint64_t)ana_messages(c, peer[i], center, false);
    bool known = sent && find_most(c, sent, n, &most);
    if (sent && n == 2) { /* the peer of two that sent more is right */
        most = sent[sent[1].term[0] > sent[0].term[0]];
        known = true;
    }
    for (size_t i = 0; known && i < n; i++)
        if (!ana_agree(&sent[i], &most) && sent[i].term[0] < most.term[0])
            out[found++] = peer[i];
    if (found)
        ANA_FACT(c, ANA_SAY_SENT_FEWER, .who = ana_ranks_at(out, found), .others = ana_one_rank(center));
    return found;
}

bool ana_waits_for_anybody(const struct ana_case *c, const struct ana_waiting *p)
{
    for (const struct ana_dependency *d = ana_need(c, p, 0); p && d < ana_need(c, p, p->dependencies); d++) {
        if (d->kind == ANA_DEPENDENCY_MESSAGE && d->peer == TRC_PEER_ANY)
            return true;
    }
    return false;
}

/* The rank of a circle that waits for a message from any source; SIZE_MAX: none. */
static size_t find_center(struct ana_case *c, const size_t *path, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (ana_waits_for_anybody(c, ana_rank_waiting(c, path[i])))
            return path[i];
    return SIZE_MAX;
}

/* Whether a rank waits for this one by name. */
static bool waits_for(struct ana_case *c, size_t index, size_t center, size_t *room)
{
    struct ana_waiting *p = ana_rank_waiting(c, index);
    bool names = p && p->kind != ANA_WAITING_FINALIZE && !ana_waits_for_anybody(c, p);
    size_t n = names ? ana_waiting_for(c, p, room, c->count) : 0;
    for (size_t i = 0; i < n; i++)
        if (room[i] == center)
            return true;
    return false;
}

bool ana_blame_deviants(struct ana_case *c, const size_t *path, size_t n)
{
    size_t center = find_center(c, path, n), peers = 0, waiting = 0, found = 0;
    size_t *peer = ana_case_room(c), *out = ana_case_room(c);
    for (size_t i = 0; peer && out && center != SIZE_MAX && i < c->count; i++)
        if (i != center && ana_rank_knot(c, i) == ana_rank_knot(c, center)) {
            peer[peers++] = i;
            waiting += waits_for(c, i, center, out);
        }
    if (peers < 2 || waiting * 2 <= peers)
        return false;
    found = find_elsewhere(c, peer, peers, out);
    if (!found)
        found = find_sent_less(c, center, peer, peers, out);
    ana_case_blame_all(c, found ? ana_ranks_at(out, found) : ana_one_rank(center));
    return true;
}
