#include "trace/summary/sum_up.h"

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
