/* Calls that need calls of particular other ranks: in epochs of windows with groups, and of neighbours.
 *
 *     MPI_Win_start, MPI_Win_complete   the MPI_Win_post of each target
 *     MPI_Win_wait, MPI_Win_test        the MPI_Win_complete of each origin
 *     MPI_Neighbor_..                   the same call of each source
 *
 * From one rank to another the n-th that is needed is the n-th that was made; either may be seen first. */
#include "trace/relations/match_impl.h"
#include "trace/relations/partners.h"
#include <string.h>

#define LINES_MOST (1u << 20)

enum link { POST_TO_START, POST_TO_COMPLETE, COMPLETE_TO_WAIT, TO_NEIGHBOR, LINKS };

enum ana_epoch_call ana_epoch_call_of(const struct trc_call *call)
{
    static const char *const names[ANA_EPOCH_CALLS] = {"MPI_Win_post", "MPI_Win_start", "MPI_Win_complete",
                                                       "MPI_Win_wait"};
    int found = 0;
    if (call->opclass == TRC_OP_RMA_TEST)
        return ANA_EPOCH_WAIT;
    while (found < ANA_EPOCH_CALLS && (call->opclass != TRC_OP_RMA_SYNC || strcmp(call->name, names[found]) != 0))
        found++;
    return (enum ana_epoch_call)found;
}

static void report(struct ana_match *match, uint64_t identity, const struct ana_partner_end *made,
                   const struct ana_partner_end *needs)
{
    bool known = !match->process[made->at.index]->gap && !match->process[needs->at.index]->gap;
    if (known)
        match->sink.on_need(match->sink.user, &(struct ana_need){needs->call, needs->at, made->at, identity});
}

/* Adds a call to a line: one that others need, or one that `needs` it. */
static void add_end(struct ana_match *match, uint64_t identity, struct ana_partner_line *line,
                    const struct ana_partner_end *end, bool needs)
{
    uint64_t *own = needs ? &line->needed : &line->made, other = needs ? line->made : line->needed;
    uint64_t number = (*own)++;
    struct ana_partner_end *kept = &line->kept[number % ANA_PARTNER_KEPT];
    if (number >= other)
        *kept = *end;
    else if (other - number <= ANA_PARTNER_KEPT)
        report(match, identity, needs ? kept : end, needs ? end : kept);
}

/* Forgets the lines on which nobody is ahead: they begin anew as well as they go on. */
static void sweep(struct ana_match *match)
{
    for (size_t i = match->partners.count; i-- > 0;) {
        struct ana_partner_line *line = ana_map_value(&match->partners, i);
        if (line->made == line->needed)
            ana_map_remove(&match->partners, line);
    }
    match->partners_most = match->partners.count * 2 + LINES_MOST / 16;
    if (match->partners_most > LINES_MOST)
        match->partners_most = LINES_MOST;
}

/* Adds a call to its lines with all given ranks. */
static void add_ends(struct ana_match *match, const struct ana_event *event, uint64_t identity,
                     const struct trc_ranks *ranks, enum link link, bool needs)
{
    const struct ana_partner_end end = {{event->index, event->begin_ns, event->end_ns, 0, event->step},
                                        event->use->call};
    for (uint32_t i = 0; ranks && i < ranks->n; i++) {
        uint64_t other = ana_match_partner(match, event, ranks->rank[i]), own = event->index;
        if (other == ANA_NOBODY || other == own)
            continue;
        uint64_t pair = needs ? other << 32 | own : own << 32 | other;
        if (match->partners.count >= match->partners_most && match->partners_most < LINES_MOST)
            sweep(match);
        struct ana_partner_line *line = match->partners.count < LINES_MOST
                                            ? ana_map_add(&match->partners, identity, pair, link)
                                            : ana_map_find(&match->partners, identity, pair, link);
        if (line)
            add_end(match, identity, line, &end, needs);
    }
}

bool ana_has_partners(const struct ana_event *event)
{
    const uint32_t none = TRC_SIG_NESTED | TRC_SIG_FAILED | TRC_SIG_POLL | TRC_SIG_SUB | TRC_SIG_START;
    return event->use->comm && event->use->call && !(event->sig->flags & none) &&
           (event->use->call->opclass == TRC_OP_NEIGHBOR || ana_epoch_call_of(event->use->call) != ANA_EPOCH_CALLS);
}

void ana_partners_event(struct ana_match *match, const struct ana_event *event, uint64_t identity)
{
    static const struct {
        enum link made[2], needs;
    } of[ANA_EPOCH_CALLS] = {[ANA_EPOCH_POST] = {{POST_TO_START, POST_TO_COMPLETE}, LINKS},
                             [ANA_EPOCH_START] = {{LINKS, LINKS}, POST_TO_START},
                             [ANA_EPOCH_COMPLETE] = {{COMPLETE_TO_WAIT, LINKS}, POST_TO_COMPLETE},
                             [ANA_EPOCH_WAIT] = {{LINKS, LINKS}, COMPLETE_TO_WAIT}};
    const struct trc_file *file = match->process[event->index]->is.file;
    enum ana_epoch_call call = ana_epoch_call_of(event->use->call);
    if (!file)
        return;
    if (call == ANA_EPOCH_CALLS) {
        add_ends(match, event, identity, trc_ranks(file, event->use->comm->destinations), TO_NEIGHBOR, false);
        add_ends(match, event, identity, trc_ranks(file, event->use->comm->sources), TO_NEIGHBOR, true);
        return;
    }
    const struct trc_ranks *group = event->sig->tag > 0 ? trc_ranks(file, (uint32_t)event->sig->tag) : NULL;
    for (int i = 0; i < 2; i++)
        if (of[call].made[i] != LINKS)
            add_ends(match, event, identity, group, of[call].made[i], false);
    if (of[call].needs != LINKS)
        add_ends(match, event, identity, group, of[call].needs, true);
}

static bool has_counts_of_each(const char *name)
{
    return strstr(name, "therv") || strstr(name, "tterv") || strstr(name, "toallv") || strstr(name, "toallw");
}

uint64_t ana_agreed_bytes(const struct trc_call *call, uint64_t sent, uint64_t received)
{
    switch (trc_opclass_agreed(call->opclass)) {
    case TRC_AGREED_SENT:
        return sent;
    case TRC_AGREED_RECEIVED:
        return received;
    case TRC_AGREED_LARGER:
        return sent > received ? sent : received;
    case TRC_AGREED_SENT_EACH:
        return has_counts_of_each(call->name) ? TRC_BYTES_UNKNOWN : sent;
    case TRC_AGREED_RECV_EACH:
        return has_counts_of_each(call->name) ? TRC_BYTES_UNKNOWN : received;
    case TRC_AGREED_NOTHING:
        break;
    }
    return TRC_BYTES_UNKNOWN;
}
