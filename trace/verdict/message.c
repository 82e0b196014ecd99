/* Receives without a matching send, and the messages that came instead. */
#include "trace/verdict/order.h"

void ana_say_near(struct ana_case *c, const struct ana_dependency *w, size_t partner)
{
    bool taken = w->near_messages == 0 && w->taken, elsewhere = w->near_identity != w->identity;
    c->out->summary = (struct ana_fact){taken       ? ANA_SAY_TAKEN_BEFORE
                                        : elsewhere ? ANA_SAY_OTHER_COMMUNICATOR
                                                    : ANA_SAY_OTHER_TAG,
                                        .who = ana_one_rank(w->index), .message = w, .others = ana_one_rank(partner),
                                        .number = w->near_tag};
    ana_case_fact(c, (struct ana_fact){taken ? ANA_SAY_NOT_WAITED_FOR : ANA_SAY_NOT_RECEIVED,
                                       .who = ana_one_rank(w->index), .count = (int64_t)w->near_messages,
                                       .more = elsewhere});
}

/* Tells that a message will not be sent: its source is in a collective. */
static void say_never_sent(struct ana_case *c, const struct ana_dependency *w, const struct ana_waiting *source)
{
    int64_t all = 0, by_any = ana_dependency_taken_by_any(c, w, source->index, &all);
    c->out->summary = (struct ana_fact){by_any > 0 ? ANA_SAY_TAKEN_BY_ANY : ANA_SAY_NEVER_SENT,
                                        .who = ana_one_rank(w->index),
                                        .message = w,
                                        .others = ana_one_rank(source->index),
                                        .call = ana_waiting_call(source),
                                        .count = all,
                                        .more = by_any};
}

/* Any of the ranks that could send: one that sent something else; SIZE_MAX: none did. */
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
    const struct ana_waiting *source = named || partner == SIZE_MAX ? NULL : ana_rank_waiting(c, partner);
    bool never = source && source->kind == ANA_WAITING_COLLECTIVE && ana_case_deadlocked(c, partner) &&
                 ana_gone_past(c, p, false, partner) != ANA_ON_ITS_WAY;
    if (w->kind != ANA_DEPENDENCY_MESSAGE || w->met != 0 || w->unsure || (near ? !named : !never))
        return false;
    size_t both[] = {p->index, partner};
    if (!ana_case_settle(c, ANA_CLASS_UNMATCHED, ana_case_certainty(c, both, 2), ana_case_lasted(c, &p->index, 1)))
        return false;
    ana_case_blame(c, p->index);
    ana_case_blame(c, partner);
    ana_case_doubt_culprits(c);
    if (near)
        ana_say_near(c, w, partner);
    else
        say_never_sent(c, w, source);
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
    return ana_find_at_odds(c) || find_unmatched(c, false);
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
        c->out->state = ANA_VERDICT_ABORTED;
        c->out->id = ANA_CLASS_UNMATCHED;
        c->out->confidence = ANA_LIKELY;
        ana_case_blame(c, p->index);
        ana_case_blame(c, sender);
        c->out->summary = (struct ana_fact){ANA_SAY_NO_ROOM,
                                            .who = ana_one_rank(p->index),
                                            .count = (int64_t)w->bytes,
                                            .call = ana_waiting_call(p),
                                            .others = ana_one_rank(sender),
                                            .of = (int64_t)w->came,
                                            .number = w->tag,
                                            .comm = w->comm};
        ana_case_fact(c, (struct ana_fact){.id = ANA_SAY_TRUNCATED});
        c->out->next.id = ANA_SAY_NEXT_ROOM;
        return true;
    }
    return false;
}

bool ana_find_truncated(struct ana_case *c)
{
    for (size_t i = 0; i < c->waiting_count && !c->live; i++) {
        struct ana_waiting *p = &c->waiting[i];
        bool probes = trc_opclass_is_probe(p->call->opclass);
        if (!probes && c->job->process[p->index].rank.state == ANA_RANK_DEAD && truncated(c, p))
            return true;
    }
    return false;
}
