/* Receives without a matching send, and the messages that came instead. */
#include "trace/verdict/order.h"
#include "trace/verdict/verdict_impl.h"

/* Makes the fact that other receives took such messages: one that returned an error, some from any source or of any
 * tag, or one at another place. They may have been meant for this receive.  False: none did; *known: that is known. */
static bool is_taken_elsewhere(struct ana_case *c, const struct ana_dependency *w, size_t partner,
                               struct ana_fact *fact, bool *known)
{
    const struct ana_waiting *p = ana_rank_waiting(c, w->index);
    struct ana_taken by;
    *known = ana_dependency_taken(c, w, partner, &by);
    *fact = (struct ana_fact){ANA_SENTENCE_TAKEN_ELSEWHERE,
                              .who = ana_one_rank(w->index),
                              .message = w,
                              .others = ana_one_rank(partner),
                              .site = {w->index, by.site},
                              .count = by.all,
                              .more = by.any};
    if (by.failed.flags) {
        fact->id = ANA_SENTENCE_TAKEN_AND_FAILED;
        fact->other_call.name = trc_call(ana_case_file(c, w->index), by.failed.call)->name;
        fact->site.address = by.failed.site;
        fact->size = by.failed.flags & TRC_SIG_P2P_IN ? by.failed.received : 0;
        c->out->next.id = ANA_SENTENCE_NEXT_TOOK_AND_FAILED;
    } else if (by.any > 0) {
        c->out->next.id = ANA_SENTENCE_NEXT_TAKEN;
    }
    return by.failed.flags || by.any > 0 || (by.site && p && by.site != p->sig->site);
}

void ana_explain_near(struct ana_case *c, const struct ana_dependency *w, size_t partner)
{
    bool taken = w->near_messages == 0 && w->taken, elsewhere = w->near_identity != w->identity, known;
    struct ana_taken by = {0};
    ANA_SUMMARY(c, taken ? ANA_SENTENCE_TAKEN_BEFORE : ANA_SENTENCE_OTHER_MESSAGE, .who = ana_one_rank(w->index),
                .message = w, .others = ana_one_rank(partner), .number = w->near_tag, .more = elsewhere);
    if (taken && ana_dependency_taken(c, w, partner, &by) && by.freed > 0)
        ANA_FACT(c, ANA_SENTENCE_NOT_WAITED_FOR, .who = ana_one_rank(w->index), .count = by.freed,
                 .site = {w->index, by.freed_site});
    else
        ANA_FACT(c, taken ? ANA_SENTENCE_NOT_WAITED_FOR : ANA_SENTENCE_NOT_RECEIVED, .who = ana_one_rank(w->index),
                 .count = (int64_t)w->near_messages, .more = elsewhere);
    struct ana_fact by_any;
    if (!taken && is_taken_elsewhere(c, w, partner, &by_any, &known) && by_any.more)
        ana_case_fact(c, by_any);
}

/* All ranks that wait for a message like this one, from the same source, that does not come. */
static struct ana_ranks who_wait_alike(struct ana_case *c, const struct ana_dependency *w, size_t source)
{
    size_t *index = ana_case_room(c), n = 0;
    for (const struct ana_waiting *p = c->waiting; index && p < ana_waits(c, c->count); p++) {
        const struct ana_dependency *d = p->dependencies == 1 ? &c->dependency[p->first_dependency] : NULL;
        bool alike = d && d->kind == ANA_DEPENDENCY_MESSAGE && d->met == 0 && !d->near_messages && !d->taken &&
                     d->tag == w->tag && d->identity == w->identity && d->peer == w->peer;
        if (p->index == w->index || (p->blocked && alike && ana_dependency_partner(c, d) == source))
            index[n++] = p->index;
        n -= n > 1 && index[n - 1] == index[n - 2];
    }
    return ana_ranks_at(index, n);
}

/* Explains the first collective that the source has left and the other rank has not entered. */
static void explain_ahead(struct ana_case *c, size_t source, size_t index)
{
    const struct ana_last_events *its = ana_case_last_events(c, source), *mine = ana_case_last_events(c, index);
    for (size_t i = 0; i < its->collectives; i++) {
        const struct ana_last_collective *one = &its->collective[i];
        const uint64_t *begun = ana_map_find(&mine->newest, one->identity, 0, 0);
        if (!begun || one->sequence < *begun || one->doubt)
            continue;
        const struct trc_comm *comm = trc_comm(ana_case_file(c, source), one->sig.comm);
        ANA_FACT(c, ANA_SENTENCE_AHEAD, .who = ana_one_rank(index), .others = ana_one_rank(source),
                 .call = {.name = one->call->name}, .site = {source, one->sig.site},
                 .number = (int64_t)one->sequence + 1, .comm = comm);
        return;
    }
}

/* Explains that the source sent such a message to MPI_PROC_NULL last. */
static void explain_null_send(struct ana_case *c, const struct ana_dependency *w, size_t source)
{
    const struct trc_sig *sig = &ana_case_last_events(c, source)->null_send;
    const struct trc_comm *comm = sig->comm ? trc_comm(ana_case_file(c, source), sig->comm) : NULL;
    if (!comm || ana_comm_identity(c->job, source, comm) != w->identity || sig->tag != w->tag)
        return;
    ANA_FACT(c, ANA_SENTENCE_SENT_TO_NULL, .who = ana_one_rank(source), .site = {source, sig->site});
    ANA_NEXT(c, ANA_SENTENCE_NEXT_SENT_TO_NULL);
}

/* A message like the one that is waited for, with another destination (as a summary) or from another source; count 0:
 * none. */
static struct ana_fact find_strayed(struct ana_case *c, const struct ana_dependency *w, size_t source)
{
    struct ana_fact to = {ANA_SENTENCE_SENT_ELSEWHERE, .message = w, .who = ana_one_rank(w->index)}, from = to;
    size_t senders = 0;
    for (size_t i = 0; i < c->count && !to.count; i++) {
        const bool other = i != source && i != w->index;
        const int64_t sent = other ? ana_dependency_strayed(c, w, source, i) : 0,
                      came = other && !sent ? ana_dependency_strayed(c, w, i, w->index) : 0;
        to.count = sent;
        to.others = ana_one_rank(source);
        to.number = c->members->process[i].rank.rank;
        if (came && ++senders) {
            from.count = came;
            from.id = ANA_SENTENCE_STRAYED;
            from.others = ana_one_rank(i);
        }
    }
    from.count = senders == 1 ? from.count : 0; /* several: it would receive from each in turn */
    return to.count ? to : from;
}

/* Explains that a message will not be sent: its source is in a collective. */
static void explain_never_sent(struct ana_case *c, const struct ana_dependency *w, const struct ana_waiting *source,
                               struct ana_ranks who, const struct ana_fact *strayed)
{
    struct ana_fact fact = *strayed;
    if (fact.id != ANA_SENTENCE_SENT_ELSEWHERE || !fact.count) {
        bool known;
        const bool taken = is_taken_elsewhere(c, w, source->index, &fact, &known);
        if (!known && c->out->confidence == ANA_PROVEN)
            c->out->confidence = ANA_LIKELY;
        if (!taken)
            fact = (struct ana_fact){ANA_SENTENCE_NEVER_SENT, .who = who, .message = w};
        if (!taken && strayed->count)
            ana_case_fact(c, *strayed);
    }
    fact.others = ana_one_rank(source->index);
    fact.call = ana_waiting_call(source);
    c->out->summary = fact;
    if (fact.id == ANA_SENTENCE_NEVER_SENT)
        explain_null_send(c, w, source->index);
    explain_ahead(c, source->index, w->index);
}

/* Any of the ranks that could send: one that sent something else; SIZE_MAX: none did. */
static size_t near_sender(struct ana_case *c, const struct ana_waiting *p, const struct ana_dependency *w)
{
    size_t found = SIZE_MAX;
    for (size_t i = 0; i < c->count && w->near_messages; i++) {
        struct ana_dependency one = *w;
        one.met = -1;
        one.near_messages = 0;
        if (i != p->index && !ana_rank_moves(c, i))
            ana_dependency_check(c, p, &one, i);
        found = one.near_messages ? i : found;
    }
    return found;
}

static bool unmatched(struct ana_case *c, struct ana_waiting *p, struct ana_dependency *w, bool near)
{
    size_t partner = ana_dependency_partner(c, w);
    bool named = w->near_messages || w->taken;
    const struct ana_waiting *source = named || partner == SIZE_MAX ? NULL : ana_rank_waiting(c, partner);
    bool stands = !near && source && ana_case_deadlocked(c, partner) && w->met == 0,
         in = stands && source->kind == ANA_WAITING_COLLECTIVE && ana_is_past(c, p, false, partner) != ANA_ON_ITS_WAY,
         leaves = stands && source->kind == ANA_WAITING_FINALIZE;
    const struct ana_fact strayed = in || leaves ? find_strayed(c, w, partner) : (struct ana_fact){0};
    const bool sent = strayed.count && ana_rank_at(strayed.others, 0) == partner, never = in || (leaves && sent);
    if (w->kind != ANA_DEPENDENCY_MESSAGE || w->met != 0 || w->unsure || (near ? !named : !never))
        return false;
    size_t both[] = {p->index, partner};
    if (!ana_case_settle(c, ANA_CLASS_UNMATCHED, ana_case_certainty(c, both, 2), ana_case_lasted(c, &p->index, 1)))
        return false;
    struct ana_ranks who = near ? ana_one_rank(p->index) : who_wait_alike(c, w, partner);
    if (who.n == 1 && !sent) /* none is likely to be wrong where several wait alike */
        ana_case_blame(c, p->index);
    ana_case_blame(c, partner);
    ana_case_doubt_culprits(c);
    if (near)
        ana_explain_near(c, w, w->peer == TRC_PEER_ANY ? near_sender(c, p, w) : partner);
    else
        explain_never_sent(c, w, source, who, &strayed);
    return true;
}

/* A send whose message its receiver has found by MPI_Mprobe and not received. */
bool ana_find_probed(struct ana_case *c, struct ana_waiting *p, struct ana_dependency *w)
{
    size_t partner = ana_dependency_partner(c, w), both[] = {p->index, partner};
    if (partner == SIZE_MAX || w->kind != ANA_DEPENDENCY_RECEIVER || w->met != 0 || !w->probed ||
        !c->rank[partner].sure ||
        !ana_case_settle(c, ANA_CLASS_UNMATCHED, ana_case_certainty(c, both, 2), p->lasted_ns))
        return false;
    ana_case_blame(c, partner);
    ana_case_doubt_culprits(c);
    ANA_SUMMARY(c, ANA_SENTENCE_PROBED, .who = ANA_CULPRITS, .others = ana_one_rank(p->index),
                .call = ana_waiting_call(p));
    c->out->next.id = ANA_SENTENCE_NEXT_PROBED;
    return true;
}

/* A receive before this one took such a message and returned an error, as one does without room for all of it. */
static bool took_and_failed(struct ana_case *c, struct ana_waiting *p, struct ana_dependency *w)
{
    const size_t partner = ana_dependency_partner(c, w);
    struct ana_fact fact;
    bool known, waits = w->kind == ANA_DEPENDENCY_MESSAGE && w->met == 0 && !w->unsure && partner != SIZE_MAX;
    if (!waits || w->near_messages || w->taken || !ana_case_last_events(c, p->index)->fails ||
        !is_taken_elsewhere(c, w, partner, &fact, &known) || fact.id != ANA_SENTENCE_TAKEN_AND_FAILED ||
        !ana_case_settle_likely(c, ANA_CLASS_UNMATCHED, &p->index, 1, p->lasted_ns)) {
        c->out->next.id = ANA_SENTENCE_NOTHING;
        return false;
    }
    ana_case_blame(c, p->index);
    c->out->summary = fact;
    return true;
}

bool ana_find_near(struct ana_case *c, struct ana_waiting *p, struct ana_dependency *w)
{
    return took_and_failed(c, p, w) || unmatched(c, p, w, true);
}

bool ana_find_never_sent(struct ana_case *c, struct ana_waiting *p, struct ana_dependency *w)
{
    return unmatched(c, p, w, false);
}

/* ---- more than there is room for -------------------------------------------------------------------------------- */

static bool truncated(struct ana_case *c, struct ana_waiting *p)
{
    ana_waiting_dependencies(c, p);
    for (struct ana_dependency *w = ana_need(c, p, 0); w < ana_need(c, p, p->dependencies); w++) {
        size_t sender = w->kind == ANA_DEPENDENCY_MESSAGE && w->peer >= 0 ? ana_dependency_partner(c, w) : SIZE_MAX;
        if (sender == SIZE_MAX || w->tag < 0 || w->bytes == TRC_BYTES_UNKNOWN || !ana_message_left(c, sender, p->index))
            continue;
        ana_dependency_check(c, p, w, sender);
        if (w->met <= 0 || w->came <= w->bytes || w->came == TRC_BYTES_UNKNOWN)
            continue;
        ana_case_set(c, ANA_VERDICT_ABORTED, ANA_CLASS_UNMATCHED, ANA_LIKELY);
        ana_case_blame(c, p->index);
        ana_case_blame(c, sender);
        ANA_SUMMARY(c, ANA_SENTENCE_NO_ROOM, .who = ana_one_rank(p->index), .count = (int64_t)w->bytes,
                    .call = ana_waiting_call(p), .others = ana_one_rank(sender), .of = (int64_t)w->came,
                    .number = w->tag, .comm = w->comm);
        ANA_FACT(c, ANA_SENTENCE_TRUNCATED);
        c->out->next.id = ANA_SENTENCE_NEXT_ROOM;
        return true;
    }
    return false;
}

bool ana_find_truncated(struct ana_case *c)
{
    for (struct ana_waiting *p = c->waiting; p < ana_waits(c, c->count) && !c->live; p++) {
        bool probes = trc_opclass_is_probe(p->call->opclass);
        if (!probes && c->members->process[p->index].rank.state == ANA_RANK_DEAD && truncated(c, p))
            return true;
    }
    return false;
}
