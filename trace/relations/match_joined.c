/* Nonblocking collectives: the calls that complete them, and whom those wait for. */
#include "trace/relations/match_impl.h"

void ana_coll_request(struct ana_match *match, const struct ana_event *event, uint64_t identity)
{
    if (match->joining.count >= ANA_MATCH_INSTANCES)
        ana_map_free(&match->joining); /* nobody completes them */
    struct ana_coll_request *request =
        ana_map_add(&match->joining, event->index, event->request_thread, event->request);
    if (request)
        *request = (struct ana_coll_request){identity, event->sequence};
}

/* Reports the completion of a collective that all have begun. */
static void report_joined(struct ana_match *match, struct ana_begun_coll *begun, struct ana_joined *joined)
{
    bool is_root = begun->root.comm_rank >= 0 && begun->root.index == joined->index;
    joined->needs_all = begun->shape == TRC_SHAPE_ALL || (begun->shape == TRC_SHAPE_TO_ROOT && is_root);
    if (joined->needs_all)
        joined->needed = begun->last;
    else if (begun->shape == TRC_SHAPE_FROM_ROOT && begun->root.comm_rank >= 0)
        joined->needed = begun->root;
    match->sink.on_joined(match->sink.user, joined);
    begun->left--;
}

void ana_coll_all_begun(struct ana_match *match, const struct ana_open_instance *open)
{
    struct ana_begun_coll begun = {
        .shape = trc_opclass_shape(open->call->opclass), .left = open->arrivals, .root.comm_rank = -1};
    for (size_t i = 0; i < open->arrivals; i++) {
        begun.last = open->arrival[i].comm_rank >= 0 ? open->arrival[i] : begun.last;
        begun.root = (int64_t)open->arrival[i].index == open->root ? open->arrival[i] : begun.root;
    }
    for (size_t i = 0; match->early.count && i < open->arrivals; i++) {
        struct ana_joined *joined = ana_map_find(&match->early, open->identity, open->sequence, open->arrival[i].index);
        if (!joined)
            continue;
        report_joined(match, &begun, joined);
        ana_map_remove(&match->early, joined);
    }
    if (match->begun_colls.count >= ANA_MATCH_INSTANCES)
        ana_map_free(&match->begun_colls);
    struct ana_begun_coll *kept =
        begun.left && match->joining.count ? ana_map_add(&match->begun_colls, open->identity, open->sequence, 0) : NULL;
    if (kept)
        *kept = begun;
}

void ana_coll_complete(struct ana_match *match, const struct ana_event *event, const struct trc_call *call)
{
    struct ana_map *joining = &match->joining;
    struct ana_coll_request *found =
        joining->count ? ana_map_find(joining, event->index, event->request_thread, event->request) : NULL;
    if (!found)
        return;
    struct ana_joined joined = {.index = event->index,
                                .call = call,
                                .begin_ns = event->begin_ns,
                                .end_ns = event->end_ns,
                                .step = event->step,
                                .comm_identity = found->identity,
                                .sequence = found->sequence,
                                .needed.index = event->index};
    ana_map_remove(joining, found);
    struct ana_begun_coll *begun = ana_map_find(&match->begun_colls, joined.comm_identity, joined.sequence, 0);
    if (begun) {
        report_joined(match, begun, &joined);
        if (begun->left == 0)
            ana_map_remove(&match->begun_colls, begun);
        return;
    }
    if (match->early.count >= ANA_MATCH_INSTANCES)
        ana_map_free(&match->early);
    struct ana_joined *early = ana_map_add(&match->early, joined.comm_identity, joined.sequence, event->index);
    if (early)
        *early = joined;
}
