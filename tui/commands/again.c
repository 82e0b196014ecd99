#include "tui/commands/again.h"
#include "trace/index/index.h"
#include "trace/job/parts.h"
#include "trace/session/session.h"

bool tui_again_wanted(const struct ana_job *watched)
{
    return ana_index_is_missing(watched);
}

bool tui_again_step(struct tui_again *again, int64_t budget_ns)
{
    char error[512];
    if (!again->job && (ana_job_open(again->folders, again->count, &again->job, error, sizeof error) != TRC_OK ||
                        !ana_job_read_by_threads(again->job))) {
        tui_again_leave(again);
        return false;
    }
    if (ana_job_advance(again->job, budget_ns) < 1)
        return true;
    ana_job_close(again->job); /* writes the index */
    again->job = NULL;
    return false;
}

void tui_again_leave(struct tui_again *again)
{
    if (again->job) {
        ana_job_set_index(again->job, false);
        ana_job_close(again->job);
    }
    again->job = NULL;
}
