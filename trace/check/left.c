/* What is left at the end of a rank that finalized: requests that nobody completed; and calls that failed. */
#include "trace/check/check_impl.h"

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

void ana_check_left(struct ana_check *c)
{
    for (size_t a = 0; a < c->actors; a++) {
        const struct ana_player *p = &c->player[c->actor[a].rank];
        const struct trc_head *head = trc_head(c->job->process[c->actor[a].rank].rank.file);
        failed_calls(c, &c->actor[a]);
        if (p->finalized && p->whole && !head->unknown_requests)
            requests_left(c, &c->actor[a]);
    }
}
