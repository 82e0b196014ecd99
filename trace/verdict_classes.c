/* Deadlocks and hangs, by class. */
#include "trace/verdict_impl.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BUSY_SHARE 0.05 /* of a core: a rank outside MPI that does something (on a node with more ranks than cores) */
#define BUSY_TIMES 10   /* it is slow, not hung, for so many times hang_ns */

static bool ended(const struct ana_case *c, size_t index)
{
    return c->job->process[index].rank.state == ANA_RANK_DONE;
}

static bool deadlocked(const struct ana_case *c, size_t index)
{
    return !c->free[index] && !c->gone[index] && !ended(c, index) && ana_rank_blocked(c, index);
}

/* A thread that waits for its partner in a call that is no message. */
static bool in_collective(struct ana_case *c, size_t index)
{
    struct ana_post *p = ana_rank_post(c, index);
    return p && p->kind == ANA_POST_COLLECTIVE;
}

static bool finalizes(const struct ana_case *c, size_t index)
{
    for (size_t i = c->first_post[index]; i < c->first_post[index + 1]; i++)
        if (c->post[i].kind == ANA_POST_FINALIZE)
            return true;
    return ended(c, index);
}

/* A deadlock is proven where all threads of its ranks are blocked inside a call: one that polls may do something else,
 * one outside MPI too. */
static enum ana_confidence certainty(const struct ana_case *c, const size_t *index, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (index[i] != SIZE_MAX && !c->sure[index[i]] && !ended(c, index[i]))
            return ANA_LIKELY;
    for (size_t i = 0; i < n; i++)
        for (size_t k = index[i] == SIZE_MAX ? c->posts : c->first_post[index[i]]; k < c->posts; k++) {
            if (c->post[k].index != index[i])
                break;
            if (c->post[k].kind == ANA_POST_POLL)
                return ANA_LIKELY;
        }
    return ANA_PROVEN;
}

static size_t partner_of(const struct ana_case *c, const struct ana_post *p, const struct ana_want *w)
{
    return ana_index_of_rank(c->job, c->job->process[p->index].rank.world, w->peer);
}

/* ---- a receive that nothing is sent for -----------------------------------------------------------------------------
 */

static void message_words(const struct ana_case *c, const struct ana_want *w, char *out, size_t size)
{
    char comm[128], tag[32] = "any tag", from[32] = "any rank";
    ana_comm_words(c->job, w->comm, comm, sizeof comm);
    if (w->tag != TRC_TAG_ANY)
        snprintf(tag, sizeof tag, "tag %d", w->tag);
    if (w->peer >= 0)
        snprintf(from, sizeof from, "rank %d", w->peer);
    snprintf(out, size, "a message from %s with %s on %s", from, tag, comm);
}

static void say_near(struct ana_case *c, const struct ana_post *p, const struct ana_want *w, size_t partner)
{
    char wanted[256], comm[128] = "another communicator";
    message_words(c, w, wanted, sizeof wanted);
    const struct ana_label me = ana_rank_label(c->job, p->index);
    const struct ana_label from = partner == SIZE_MAX ? (struct ana_label){"?"} : ana_rank_label(c->job, partner);
    if (w->near_messages == 0 && w->taken) {
        ana_case_say(c, "rank %s waits for %s, which an earlier receive took that nobody completed", me.text, wanted);
        ana_case_evidence(c, "rank %s posted a nonblocking receive that fits before, and never waited for it", me.text);
        return;
    }
    bool tag_differs = w->near_identity == w->identity;
    if (tag_differs)
        ana_case_say(c, "rank %s waits for %s; rank %s sent one with tag %d, which nobody receives", me.text, wanted,
                     from.text, w->near_tag);
    else
        ana_case_say(c, "rank %s waits for %s; rank %s sent one with tag %d on %s, which nobody receives", me.text,
                     wanted, from.text, w->near_tag, comm);
    ana_case_evidence(c, "%llu message%s from there %s sent and never received: only %s",
                      (unsigned long long)w->near_messages, w->near_messages == 1 ? "" : "s",
                      w->near_messages == 1 ? "was" : "were",
                      tag_differs ? "the tag differs" : "the communicator differs");
}

/* Its source is in a collective, or waits itself: it will not send. */
static bool say_never_sent(struct ana_case *c, const struct ana_post *p, const struct ana_want *w, size_t partner)
{
    char wanted[256], call[256];
    struct ana_post *other = partner == SIZE_MAX ? NULL : ana_rank_post(c, partner);
    message_words(c, w, wanted, sizeof wanted);
    if (!other)
        return false;
    ana_post_words(c, other, call, sizeof call);
    ana_case_say(c, "rank %s waits for %s that was never sent; rank %s is in %s", ana_rank_label(c->job, p->index).text,
                 wanted, ana_rank_label(c->job, partner).text, call);
    return true;
}

/* Any of the ranks that could send: one that sent something else, or NULL's SIZE_MAX. */
static size_t near_sender(struct ana_case *c, const struct ana_post *p, struct ana_want *w)
{
    if (w->peer != TRC_PEER_ANY)
        return partner_of(c, p, w);
    size_t found = SIZE_MAX;
    for (size_t i = 0; i < c->count && w->near_messages; i++) {
        struct ana_want one = *w;
        one.met = -1;
        one.near_messages = 0;
        if (i != p->index && !c->free[i])
            ana_want_look(c, p, &one, i);
        if (one.near_messages)
            found = i;
    }
    return found;
}

static bool unmatched(struct ana_case *c, struct ana_post *p, struct ana_want *w, bool near)
{
    size_t partner = near_sender(c, p, w);
    bool named = w->near_messages || w->taken;
    bool never = !named && partner != SIZE_MAX && deadlocked(c, partner) && in_collective(c, partner);
    if (w->kind != ANA_WANT_MESSAGE || w->met != 0 || (near ? !named : !never))
        return false;
    size_t both[] = {p->index, partner};
    if (!ana_case_settle(c, ANA_CLASS_UNMATCHED, certainty(c, both, 2), ana_case_lasted(c, &p->index, 1)))
        return false;
    ana_case_blame(c, p->index);
    if (partner != SIZE_MAX)
        ana_case_blame(c, partner);
    if (near)
        say_near(c, p, w, partner);
    else
        say_never_sent(c, p, w, partner);
    return true;
}

bool ana_find_unmatched(struct ana_case *c)
{
    for (int near = 1; near >= 0; near--)
        for (size_t i = 0; i < c->posts; i++) {
            struct ana_post *p = &c->post[i];
            if (!p->blocked || !deadlocked(c, p->index) || (p->kind != ANA_POST_MESSAGES && p->kind != ANA_POST_POLL))
                continue;
            for (uint32_t k = 0; k < p->wants; k++)
                if (unmatched(c, p, &c->want[p->first_want + k], near))
                    return true;
        }
    return false;
}

/* ---- somebody has left ----------------------------------------------------------------------------------------------
 */

bool ana_find_early_exit(struct ana_case *c)
{
    size_t *edges = calloc(c->count + 1, sizeof *edges), waiters = 0, waiter = 0;
    struct ana_post *what = NULL;
    int64_t lasted = INT64_MAX;
    for (size_t i = 0; edges && i < c->posts; i++) {
        struct ana_post *p = &c->post[i];
        if (!p->blocked || !deadlocked(c, p->index) || p->kind == ANA_POST_FINALIZE)
            continue;
        size_t n = ana_post_waits_for(c, p, edges, c->count), left = 0;
        for (size_t k = 0; k < n; k++)
            left += finalizes(c, edges[k]);
        for (size_t k = 0; k < n && left; k++)
            if (finalizes(c, edges[k]))
                ana_case_blame(c, edges[k]);
        if (left && waiters++ == 0) {
            waiter = p->index;
            what = p;
        }
        if (left && p->lasted_ns < lasted)
            lasted = p->lasted_ns;
    }
    free(edges);
    if (!what)
        return false;
    size_t both[] = {waiter};
    if (!ana_case_settle(c, ANA_CLASS_EARLY_EXIT, certainty(c, both, 1), lasted)) {
        c->out->culprits = 0;
        return false;
    }
    char who[128], call[256], more[48] = "";
    ana_rank_list(c->job, c->out->culprit, c->out->culprits, who, sizeof who);
    ana_post_words(c, what, call, sizeof call);
    if (waiters > 1)
        snprintf(more, sizeof more, " and %zu more", waiters - 1);
    ana_case_say(c, "%s %s while rank %s%s still wait%s in %s", who,
                 ended(c, c->out->culprit[0]) ? "finished"
                 : c->out->culprits == 1      ? "is in MPI_Finalize"
                                              : "are in MPI_Finalize",
                 ana_rank_label(c->job, waiter).text, more, waiters == 1 ? "s" : "", call);
    return true;
}

/* ---- a circle -------------------------------------------------------------------------------------------------------
 */

/* The first deadlocked rank that `index` waits for; SIZE_MAX: none. */
static size_t next_in_circle(struct ana_case *c, size_t index, size_t *edges)
{
    for (size_t i = c->first_post[index]; i < c->first_post[index + 1]; i++) {
        struct ana_post *p = &c->post[i];
        size_t n = p->blocked ? ana_post_waits_for(c, p, edges, c->count) : 0;
        for (size_t k = 0; k < n; k++)
            if (deadlocked(c, edges[k]))
                return edges[k];
    }
    return SIZE_MAX;
}

/* Follows the waits from `start` until a rank comes again; out holds the circle, in its order; 0: there is none. */
static size_t circle_from(struct ana_case *c, size_t start, size_t *edges, size_t *path, uint32_t *seen, uint32_t stamp)
{
    size_t n = 0;
    for (size_t at = start; at != SIZE_MAX && n <= c->count; at = next_in_circle(c, at, edges)) {
        if (seen[at] == stamp) {
            size_t from = 0;
            while (path[from] != at)
                from++;
            memmove(path, path + from, (n - from) * sizeof *path);
            return n - from;
        }
        if (seen[at])
            return 0; /* walked before, without a circle */
        seen[at] = stamp;
        path[n++] = at;
    }
    return 0;
}

static void say_circle(struct ana_case *c, const size_t *path, size_t n)
{
    char who[128], call[256], ring[160];
    size_t at = 0;
    ana_rank_list(c->job, c->out->culprit, c->out->culprits, who, sizeof who);
    for (size_t i = 0; i <= n && at < sizeof ring - 1; i++) {
        int k = i < 8 || i == n ? snprintf(ring + at, sizeof ring - at, "%s%s", i ? " -> " : "",
                                           ana_rank_label(c->job, path[i % n]).text)
                                : snprintf(ring + at, sizeof ring - at, "%s", i == 8 ? " -> ..." : "");
        at += k > 0 ? (size_t)k : 0;
    }
    ana_post_words(c, ana_rank_post(c, path[0]), call, sizeof call);
    ana_case_say(c, "%s wait for each other in a circle: %s (rank %s in %s)", who, ring,
                 ana_rank_label(c->job, path[0]).text, call);
    for (size_t i = 0; i < n && i < 8; i++) {
        ana_post_words(c, ana_rank_post(c, path[i]), call, sizeof call);
        ana_case_evidence(c, "rank %s waits for rank %s: %s", ana_rank_label(c->job, path[i]).text,
                          ana_rank_label(c->job, path[(i + 1) % n]).text, call);
    }
}

/* Two collectives on different communicators, each without some who are in the other. */
static bool say_orders(struct ana_case *c, const size_t *path, size_t n)
{
    struct ana_post *a = ana_rank_post(c, path[0]), *b = ana_rank_post(c, path[1]);
    if (n != 2 || a->kind != ANA_POST_COLLECTIVE || b->kind != ANA_POST_COLLECTIVE)
        return false;
    size_t *in_a = calloc(c->posts + 1, sizeof *in_a), *in_b = calloc(c->posts + 1, sizeof *in_b), na = 0, nb = 0;
    for (size_t i = 0; in_a && in_b && i < c->posts; i++) {
        const struct ana_post *p = &c->post[i];
        if (p->kind != ANA_POST_COLLECTIVE || (p->group != a->group && p->group != b->group))
            continue;
        ana_case_blame(c, p->index);
        if (p->group == a->group)
            in_a[na++] = p->index;
        else
            in_b[nb++] = p->index;
    }
    char first[128], second[128], call_a[256], call_b[256];
    if (in_a && in_b) {
        ana_rank_list(c->job, in_a, na, first, sizeof first);
        ana_rank_list(c->job, in_b, nb, second, sizeof second);
        ana_post_words(c, a, call_a, sizeof call_a);
        ana_post_words(c, b, call_b, sizeof call_b);
        ana_case_say(c, "collectives on two communicators in opposite order: %s %s in %s, %s in %s", first,
                     na == 1 ? "waits" : "wait", call_a, second, call_b);
    }
    free(in_a);
    free(in_b);
    return true;
}

bool ana_find_cycle(struct ana_case *c)
{
    size_t *edges = calloc(c->count + 1, sizeof *edges), *path = calloc(c->count + 1, sizeof *path), n = 0;
    uint32_t *seen = calloc(c->count + 1, sizeof *seen);
    for (size_t i = 0; edges && path && seen && i < c->count && n < 2; i++)
        if (deadlocked(c, i) && !seen[i])
            n = circle_from(c, i, edges, path, seen, (uint32_t)i + 1);
    bool found = n >= 1 && ana_case_settle(c, ANA_CLASS_CYCLE, certainty(c, path, n), ana_case_lasted(c, path, n));
    if (found) {
        for (size_t i = 0; i < n; i++)
            ana_case_blame(c, path[i]);
        if (!say_orders(c, path, n))
            say_circle(c, path, n);
        if (certainty(c, path, n) != ANA_PROVEN)
            ana_case_evidence(c,
                              "other threads of these ranks are outside MPI: they may hold or wait for a lock, such as "
                              "Python's");
    }
    free(edges);
    free(path);
    free(seen);
    return found;
}

/* ---- somebody outside MPI is waited for -----------------------------------------------------------------------------
 */

/* Ranks that compute are slow for a long while before they count as hung. */
static bool settle_by_time(struct ana_case *c, enum ana_verdict_class id, int64_t lasted)
{
    if (!ana_case_settle(c, id, ANA_LIKELY, lasted))
        return false;
    bool computes = c->out->culprits > 0;
    for (size_t i = 0; i < c->out->culprits; i++)
        computes &= ana_looks_cpu(c, c->out->culprit[i]) >= BUSY_SHARE;
    if (computes && lasted / BUSY_TIMES < c->rules.hang_ns) {
        c->out->state = ANA_SLOW;
        c->out->confidence = ANA_POSSIBLE;
        ana_case_evidence(c, "it uses a processor: it computes, or spins");
    }
    return true;
}

static bool group_misses(struct ana_case *c, const struct ana_group *g)
{
    size_t nowhere = 0;
    int64_t lasted = INT64_MAX;
    for (size_t i = 0; i < c->posts; i++) {
        const struct ana_post *p = &c->post[i];
        if (p->blocked && p->kind == ANA_POST_COLLECTIVE && ana_group_at(c, p->group) == g && p->lasted_ns < lasted)
            lasted = p->lasted_ns;
    }
    for (size_t i = 0; i < g->missing_count; i++) {
        nowhere += g->missing[i] == SIZE_MAX;
        if (g->missing[i] != SIZE_MAX && c->free[g->missing[i]])
            ana_case_blame(c, g->missing[i]);
    }
    if ((c->out->culprits == 0 && nowhere == 0) || lasted == INT64_MAX ||
        !settle_by_time(c, ANA_CLASS_MISSING, lasted)) {
        c->out->culprits = 0;
        return false;
    }
    char who[128] = "a rank without a trace file", comm[128];
    const struct ana_post *first = &c->post[g->first_post];
    if (c->out->culprits)
        ana_rank_list(c->job, c->out->culprit, c->out->culprits, who, sizeof who);
    ana_comm_words(c->job, g->comm, comm, sizeof comm);
    ana_case_say(c, "%s %s not come to %s on %s, where %zu of %d wait", who, c->out->culprits > 1 ? "have" : "has",
                 first->call->name, comm, g->inside, g->comm->def.size + g->comm->def.remote_size);
    ana_case_evidence(c, "it is collective %llu on that communicator; the last to come came %.1f s ago",
                      (unsigned long long)g->sequence + 1, (double)lasted / 1e9);
    return true;
}

/* A message from a rank that is outside MPI. */
static bool message_misses(struct ana_case *c, struct ana_post *p)
{
    ana_post_wants(c, p);
    for (uint32_t i = 0; i < p->wants; i++) {
        struct ana_want *w = &c->want[p->first_want + i];
        size_t partner = partner_of(c, p, w);
        if (w->kind == ANA_WANT_COLLECTIVE || partner == SIZE_MAX || !c->free[partner] || ana_rank_blocked(c, partner))
            continue;
        ana_want_look(c, p, w, partner);
        if (w->met > 0)
            continue;
        ana_case_blame(c, partner);
        if (!settle_by_time(c, w->kind == ANA_WANT_MESSAGE ? ANA_CLASS_UNMATCHED : ANA_CLASS_CYCLE, p->lasted_ns)) {
            c->out->culprits = 0;
            continue;
        }
        ana_case_blame(c, p->index);
        char wanted[256], call[256];
        message_words(c, w, wanted, sizeof wanted);
        ana_post_words(c, p, call, sizeof call);
        if (w->near_messages || w->taken)
            say_near(c, p, w, partner);
        else if (w->kind == ANA_WANT_MESSAGE)
            ana_case_say(c, "rank %s waits for %s, which has not sent it; it is outside MPI",
                         ana_rank_label(c->job, p->index).text, wanted);
        else
            ana_case_say(c, "rank %s is in %s, which rank %s does not receive; it is outside MPI",
                         ana_rank_label(c->job, p->index).text, call, ana_rank_label(c->job, partner).text);
        return true;
    }
    return false;
}

bool ana_find_missing(struct ana_case *c)
{
    for (size_t i = 0; i < c->groups.count; i++)
        if (ana_group_at(c, i)->blocked && ana_group_at(c, i)->looked && group_misses(c, ana_group_at(c, i)))
            return true;
    for (size_t i = 0; i < c->posts; i++) {
        struct ana_post *p = &c->post[i];
        if (p->blocked && p->kind == ANA_POST_MESSAGES && message_misses(c, p))
            return true;
    }
    return false;
}

/* ---- all are there, and nothing moves -------------------------------------------------------------------------------
 */

bool ana_find_inside(struct ana_case *c)
{
    for (size_t i = 0; i < c->groups.count; i++) {
        const struct ana_group *g = ana_group_at(c, i);
        const struct ana_post *first = &c->post[g->first_post];
        if (!g->blocked || !g->looked || g->missing_count || !first->blocked ||
            !ana_case_settle(c, ANA_CLASS_INSIDE, ANA_LIKELY, ana_case_lasted(c, &first->index, 1)))
            continue;
        char comm[128], bytes[ANA_TEXT];
        ana_comm_words(c->job, g->comm, comm, sizeof comm);
        uint64_t most = first->sig->sent > first->sig->received ? first->sig->sent : first->sig->received;
        ana_case_say(c, "all %d ranks have come to %s on %s (%s), and %zu do not come out of it",
                     g->comm->def.size + g->comm->def.remote_size, first->call->name, comm,
                     ana_number(bytes, sizeof bytes, ANA_BYTES, (double)most, false), g->inside);
        return true;
    }
    return false;
}

/* Nothing fits, but nobody has completed a call for long, and somebody is in one. */
bool ana_find_still(struct ana_case *c)
{
    size_t inside = 0, outside = 0;
    int64_t last = INT64_MIN;
    for (size_t i = 0; i < c->count; i++) {
        const struct ana_process *p = &c->job->process[i];
        const struct ana_post *post = ana_rank_post(c, i);
        int64_t end = post ? post->since_ns : p->last_end_ns;
        if (ended(c, i))
            continue;
        last = end > last ? end : last;
        inside += post != NULL;
        outside += !post;
    }
    if (inside == 0 || !ana_case_settle(c, ANA_CLASS_NONE, ANA_POSSIBLE, c->job->end_ns - last))
        return false;
    ana_case_say(c, "nothing moves: %zu rank%s inside MPI, %zu outside", inside, inside == 1 ? "" : "s", outside);
    return true;
}
