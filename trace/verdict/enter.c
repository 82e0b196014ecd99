/* Calls of the verdict by a job. */
#include "trace/job/upper.h"
#include "trace/verdict/verdict_impl.h"

void ana_verdict_enter(struct ana_upper *upper)
{
    upper->judgement_new = ana_judgement_new;
    upper->judgement_free = ana_judgement_free;
    upper->refreshed = ana_verdict_refreshed;
}
