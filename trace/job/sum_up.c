#include "trace/job/sum_up.h"

enum trc_status ana_summarize_all(struct ana_job *job, struct ana_selection selection, struct ana_summary *out)
{
    ana_job_advance(job, 0);
    enum trc_status status = ana_summarize(job, selection, out);
    if (status != TRC_OK || out->analysed >= 1 || out->exact)
        return status;
    ana_summary_free(out); /* it asked for the events of the part */
    ana_job_advance(job, 0);
    return ana_summarize(job, selection, out);
}

bool ana_summarize_iterations(struct ana_job *job, struct ana_summary *s)
{
    struct ana_loop_level *loop = &s->iterations.loop[s->iterations.level];
    for (size_t i = 0; s->has_accounts && s->exact && i < loop->slow_count; i++) {
        struct ana_slow_iteration *slow = &loop->slow[i];
        struct ana_selection time = {slow->begin_ns, slow->end_ns, s->selection.ranks, 0, 0, 0};
        struct ana_summary of;
        if (ana_summarize_all(job, time, &of) != TRC_OK)
            return false;
        slow->has_account = of.has_accounts;
        slow->account = of.account;
        ana_summary_free(&of);
    }
    return true;
}
