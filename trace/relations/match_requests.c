/* Requests lead from a completion back to the message ends that its start began. */
#include "trace/relations/match_ends.h"
#include <stdlib.h>

static void store_request(struct ana_match *match, uint32_t index, const struct ana_pending *pending)
{
    struct ana_open_request *request = ana_map_add(&match->requests, index, pending->thread, pending->number);
    bool fresh = request && !request->end;
    if (fresh)
        *request = (struct ana_open_request){pending->end, pending->also};
    else /* Out of memory, or a damaged file: it will never be seen to complete, so nothing after it is certain. */
        ana_p2p_gap(match, index);
}

/* Doubles the room for a rank's requests.  False: it has as much as it may have, or there is no memory. */
static bool widen_pending(struct ana_match_process *process)
{
    uint32_t room = (process->pending_mask + 1) * 2;
    struct ana_pending *wider = room <= ANA_MATCH_PENDING ? calloc(room, sizeof *wider) : NULL;
    if (!wider)
        return false;
    for (uint32_t i = 0; i <= process->pending_mask; i++)
        if (ana_is_open(&process->pending[i]))
            wider[process->pending[i].number & (room - 1)] = process->pending[i];
    free(process->pending);
    process->pending = wider;
    process->pending_mask = room - 1;
    return true;
}

void ana_request_open(struct ana_match *match, const struct ana_event *event, struct ana_end *end, struct ana_end *also)
{
    struct ana_match_process *process = match->process[event->index];
    struct ana_pending *pending = ana_pending_at(process, event);
    while (__builtin_expect(ana_is_open(pending), 0) && widen_pending(process))
        pending = ana_pending_at(process, event);
    if (__builtin_expect(ana_is_open(pending), 0))
        store_request(match, (uint32_t)event->index, pending);
    *pending = (struct ana_pending){event->request, event->request_thread, end, also};
}

/* Removes out the ends that a request leads to.  False: there are none. */
static bool remove_request(struct ana_match *match, const struct ana_event *event, struct ana_pending *out)
{
    if (event->request == UINT64_MAX)
        return false;
    struct ana_pending *pending = ana_pending_at(match->process[event->index], event);
    if (ana_is_of(pending, event)) {
        *out = *pending;
        pending->end = NULL;
        return true;
    }
    struct ana_open_request *request =
        ana_map_find(&match->requests, event->index, event->request_thread, event->request);
    if (!request)
        return false;
    *out = (struct ana_pending){event->request, event->request_thread, request->end, request->also};
    ana_map_remove(&match->requests, request);
    return true;
}

static void cancel_request(struct ana_match *match, const struct ana_pending *request)
{
    ana_end_cancel(match, request->end);
    if (request->also)
        ana_end_cancel(match, request->also);
}

/* Matches the completion of a request that was not begun here: started before the first event that is left, or its
 * start was not kept; or not a message of ours at all. */
static void complete_other(struct ana_match *match, const struct ana_end_finish *finish)
{
    const struct ana_event *event = finish->event;
    uint32_t flags = event->sig->flags;
    ana_coll_complete(match, event, finish->call);
    bool lost = event->request == UINT64_MAX || match->process[event->index]->gap;
    if (flags & TRC_SIG_P2P_IN && !(flags & TRC_SIG_CANCELLED) && event->use->comm && lost &&
        !(finish->route->does & ANA_DOES_NEAR))
        ana_end_complete_unknown(match, finish);
}

void ana_request_complete(struct ana_match *match, const struct ana_event *event, const struct ana_route *route)
{
    struct ana_end_finish finish = {ana_call_of(match->process[event->index], event, route->does), event, route, false};
    struct ana_pending request;
    uint32_t flags = event->sig->flags;
    if (!remove_request(match, event, &request)) {
        complete_other(match, &finish);
        return;
    }
    if (flags & TRC_SIG_CANCELLED) {
        cancel_request(match, &request);
        return;
    }
    bool freed = finish.call && finish.call->opclass == TRC_OP_REQUEST; /* MPI_Request_free: when is not known */
    for (struct ana_end *end = request.end, *next = request.also; end; end = next, next = NULL) {
        finish.silent = freed || (ana_is_receive(&end->half) && !(flags & TRC_SIG_P2P_IN));
        ana_end_complete(match, end, &finish);
    }
}
