/* Receives that nothing is sent for, and what came instead. */
#include "trace/verdict/verdict_impl.h"
#include <stdio.h>

/* Whether a thread of the rank waits for partners in a call that is no message. */
static bool in_collective(struct ana_case *c, size_t index)
{
    struct ana_waiting *p = ana_rank_waiting(c, index);
    return p && p->kind == ANA_WAITING_COLLECTIVE;
}

void ana_dependency_words(const struct ana_case *c, const struct ana_dependency *w, char *out, size_t size)
{
    char comm[128], tag[32] = "any tag", from[64] = "any rank";
    size_t partner = ana_dependency_partner(c, w);
    ana_comm_words(c->job, w->comm, comm, sizeof comm);
    if (w->tag != TRC_TAG_ANY)
        snprintf(tag, sizeof tag, "tag %d", w->tag);
    if (w->peer != TRC_PEER_ANY)
        snprintf(from, sizeof from, "rank %s", partner == SIZE_MAX ? "?" : ana_rank_label(c->job, partner).text);
    snprintf(out, size, "a message from %s with %s on %s", from, tag, comm);
}

void ana_say_near(struct ana_case *c, const struct ana_waiting *p, const struct ana_dependency *w, size_t partner)
{
    char wanted[256], comm[128] = "another communicator";
    ana_dependency_words(c, w, wanted, sizeof wanted);
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

/* Writes that a message will not be sent: its source is in a collective, or waits itself. */
static bool say_never_sent(struct ana_case *c, const struct ana_waiting *p, const struct ana_dependency *w,
                           size_t partner)
{
    char wanted[256], call[256];
    struct ana_waiting *other = partner == SIZE_MAX ? NULL : ana_rank_waiting(c, partner);
    ana_dependency_words(c, w, wanted, sizeof wanted);
    if (!other)
        return false;
    ana_waiting_words(c, other, call, sizeof call);
    int64_t all, by_any = ana_dependency_taken_by_any(c, w, partner, &all);
    if (by_any > 0)
        ana_case_say(c, "rank %s waits for %s; of %lld that rank %s sent, its receives from any source took %lld",
                     ana_rank_label(c->job, p->index).text, wanted, (long long)all,
                     ana_rank_label(c->job, partner).text, (long long)by_any);
    else
        ana_case_say(c, "rank %s waits for %s that was never sent; rank %s is in %s",
                     ana_rank_label(c->job, p->index).text, wanted, ana_rank_label(c->job, partner).text, call);
    return true;
}

/* Any of the ranks that could send: one that sent something else, or NULL's SIZE_MAX. */
static size_t near_sender(struct ana_case *c, const struct ana_waiting *p, struct ana_dependency *w)
{
    if (w->peer != TRC_PEER_ANY)
        return ana_dependency_partner(c, w);
    size_t found = SIZE_MAX;
    for (size_t i = 0; i < c->count && w->near_messages; i++) {
        struct ana_dependency one = *w;
        one.met = -1;
        one.near_messages = 0;
        if (i != p->index && !ana_rank_moves(c, i))
            ana_dependency_check(c, p, &one, i);
        if (one.near_messages)
            found = i;
    }
    return found;
}

static bool unmatched(struct ana_case *c, struct ana_waiting *p, struct ana_dependency *w, bool near)
{
    size_t partner = near_sender(c, p, w);
    bool named = w->near_messages || w->taken;
    bool never = !named && partner != SIZE_MAX && ana_case_deadlocked(c, partner) && in_collective(c, partner);
    if (w->kind != ANA_DEPENDENCY_MESSAGE || w->met != 0 || (near ? !named : !never))
        return false;
    size_t both[] = {p->index, partner};
    if (!ana_case_settle(c, ANA_CLASS_UNMATCHED, ana_case_certainty(c, both, 2), ana_case_lasted(c, &p->index, 1)))
        return false;
    ana_case_blame(c, p->index);
    if (partner != SIZE_MAX)
        ana_case_blame(c, partner);
    if (near)
        ana_say_near(c, p, w, partner);
    else
        say_never_sent(c, p, w, partner);
    return true;
}

static bool find_unmatched(struct ana_case *c, bool near)
{
    for (size_t i = 0; i < c->waiting_count; i++) {
        struct ana_waiting *p = &c->waiting[i];
        if (!p->blocked || !ana_rank_knot(c, p->index) ||
            (p->kind != ANA_WAITING_MESSAGES && p->kind != ANA_WAITING_POLL))
            continue;
        for (uint32_t k = 0; k < p->dependencies; k++)
            if (unmatched(c, p, &c->dependency[p->first_dependency + k], near))
                return true;
    }
    return false;
}

bool ana_find_near(struct ana_case *c)
{
    return find_unmatched(c, true);
}

bool ana_find_unmatched(struct ana_case *c)
{
    return find_unmatched(c, false);
}

/* ---- more than there is room for -------------------------------------------------------------------------------- */

static bool truncated(struct ana_case *c, struct ana_waiting *p)
{
    ana_waiting_dependencies(c, p);
    for (uint32_t i = 0; i < p->dependencies; i++) {
        struct ana_dependency *w = &c->dependency[p->first_dependency + i];
        size_t sender = w->kind == ANA_DEPENDENCY_MESSAGE && w->peer >= 0 ? ana_dependency_partner(c, w) : SIZE_MAX;
        if (sender == SIZE_MAX || w->tag < 0 || w->bytes == TRC_BYTES_UNKNOWN || !ana_message_left(c, sender, p->index))
            continue;
        ana_dependency_check(c, p, w, sender);
        if (w->met <= 0 || w->came <= w->bytes || w->came == TRC_BYTES_UNKNOWN)
            continue;
        char call[256], comm[128];
        c->out->state = ANA_VERDICT_ABORTED;
        c->out->id = ANA_CLASS_UNMATCHED;
        c->out->confidence = ANA_LIKELY;
        ana_case_blame(c, p->index);
        ana_case_blame(c, sender);
        ana_waiting_words(c, p, call, sizeof call);
        ana_comm_words(c->job, w->comm, comm, sizeof comm);
        ana_case_say(c, "rank %s has room for %llu bytes in %s, and rank %s sent it %llu (tag %d on %s)",
                     ana_rank_label(c->job, p->index).text, (unsigned long long)w->bytes, call,
                     ana_rank_label(c->job, sender).text, (unsigned long long)w->came, w->tag, comm);
        ana_case_evidence(
            c, "MPI calls that an error, MPI_ERR_TRUNCATE, which ends the job unless the program handles it");
        ana_case_next(c, "count and datatype of these two calls");
        return true;
    }
    return false;
}

bool ana_find_truncated(struct ana_case *c)
{
    for (size_t i = 0; i < c->waiting_count && !c->live; i++) {
        struct ana_waiting *p = &c->waiting[i];
        bool receives = trc_opclass_is(p->call->opclass, TRC_FACT_RECEIVES);
        if (receives && c->job->process[p->index].rank.state == ANA_RANK_DEAD && truncated(c, p))
            return true;
    }
    return false;
}
