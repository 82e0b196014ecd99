/* Leftovers at the end of a rank that finalized: requests that nobody completed; and calls that failed. */
#include "trace/check/check_impl.h"
#include <string.h>

#define COUNTED 10000u /* leftovers at one place; more are not counted */

static void requests_left(struct ana_check *c, const struct ana_actor *actor)
{
    for (size_t i = 0; i < actor->requests; i++) {
        const struct ana_request *request = &actor->request[i];
        if (request->start && !request->end)
            ana_found_add(c, ANA_CHECK_INCOMPLETE, &request->start, 1, "%s", "");
    }
}

/* Errors of calls on files are answers: a file that is not there. */
static void failed_calls(struct ana_check *c, const struct ana_actor *actor)
{
    for (size_t i = 0; i < actor->steps; i++) {
        const struct ana_act *act = ana_act_of(c, actor, &actor->step[i]);
        if (act->sig.flags & TRC_SIG_FAILED && !(act->sig.flags & TRC_SIG_SUB) &&
            trc_opclass_category(act->call->opclass) != TRC_CAT_IO)
            ana_found_add(c, ANA_CHECK_FAILED, &act, 1, "%s", "");
    }
}

/* Whether a library may keep one of this kind for as long as the process lives; files and windows have to be closed. */
static bool may_be_kept(const struct trc_left *left)
{
    return strcmp(left->kind, "communicator") == 0 || strcmp(left->kind, "group") == 0 ||
           strcmp(left->kind, "datatype") == 0 || strcmp(left->kind, "operation") == 0;
}

/* Objects that the program made and did not free; counted by the recorder. */
static void objects_left(struct ana_check *c, uint32_t rank)
{
    const struct trc_left *left;
    for (size_t i = 0; (left = trc_left_at(ana_job_rank(c->job, rank)->file, i)); i++) {
        const struct ana_act act = {.sig = {.site = left->site}, .call = left->call, .rank = rank}, *made = &act;
        for (uint32_t n = 0; n < left->count && n < COUNTED; n++)
            ana_found_add(c, may_be_kept(left) ? ANA_CHECK_KEPT : ANA_CHECK_LEFT, &made, 1, "%s", left->kind);
    }
}

/* Returns whether the thread receives something, or meets others, after the last request that it freed: that may tell
 * it that the data of its freed requests has come.  Or it cancelled some. */
static bool learns_later(const struct ana_check *c, const struct ana_actor *actor)
{
    bool freed = false;
    for (size_t i = actor->steps; i-- > 0;) {
        const struct ana_act *act = ana_act_of(c, actor, &actor->step[i]);
        freed |= act->call->opclass == TRC_OP_REQUEST;
        if (strcmp(act->call->name, "MPI_Cancel") == 0 ||
            (!freed && !(act->sig.flags & TRC_SIG_CANCELLED) && act->sig.flags & (TRC_SIG_P2P_IN | TRC_SIG_COLL)))
            return true;
    }
    return false;
}

/* A receive that was given up while a message could still come: nobody will know when it does. */
static void freed_receives(struct ana_check *c, const struct ana_actor *actor)
{
    for (size_t i = 0; i < actor->requests; i++) {
        const struct ana_request *request = &actor->request[i];
        if (request->start && request->freed && request->end->sig.flags & TRC_SIG_P2P_IN &&
            request->start->sig.source != TRC_PEER_NULL && !learns_later(c, actor))
            ana_found_add(c, ANA_CHECK_INCOMPLETE, &request->start, 1,
                          "a receive that was freed before it was complete");
    }
}

/* Calls of several threads, though MPI promised to serve the main one (MPI_THREAD_SINGLE, MPI_THREAD_FUNNELED).
 * Local calls are no steps: some local calls are allowed. */
static void thread_level(struct ana_check *c, uint32_t rank)
{
    const struct ana_player *p = &c->player[rank];
    const struct ana_act *act[2];
    size_t threads = 0;
    int32_t level = trc_head(ana_job_rank(c->job, rank)->file)->thread_level;
    for (size_t i = p->first; i < p->first + p->actors; i++)
        if (c->actor[i].steps > 0 && threads++ < 2)
            act[threads - 1] = ana_act_of(c, &c->actor[i], &c->actor[i].step[c->actor[i].steps / 2]);
    if (threads > 1 && (level == 0 || level == 1))
        ana_found_add(c, ANA_CHECK_THREADS, act, 2, "%zu threads, level %s", threads,
                      level ? "MPI_THREAD_FUNNELED" : "MPI_THREAD_SINGLE");
}

void ana_check_left(struct ana_check *c)
{
    for (size_t a = 0; a < c->actors; a++) {
        const struct ana_player *p = &c->player[c->actor[a].rank];
        const struct trc_head *head = trc_head(ana_job_rank(c->job, c->actor[a].rank)->file);
        failed_calls(c, &c->actor[a]);
        if (p->finalized && p->whole && !head->unknown_requests)
            requests_left(c, &c->actor[a]);
        freed_receives(c, &c->actor[a]);
    }
    for (uint32_t i = 0; i < ana_job_ranks(c->job); i++) {
        objects_left(c, i);
        thread_level(c, i);
    }
}
