/* What Horovod's loops say is the matter (horovod.h), as a verdict. */
#include "trace/verdict/verdict_impl.h"
#include <stdio.h>

static const struct {
    enum ana_verdict_class id;
    enum ana_confidence confidence;
} as[] = {
    [ANA_HVD_FINE] = {ANA_CLASS_NONE, ANA_LIKELY},
    [ANA_HVD_NOT_SUBMITTED] = {ANA_CLASS_NOT_SUBMITTED, ANA_PROVEN}, /* by the rank's own words */
    [ANA_HVD_NAME_MISMATCH] = {ANA_CLASS_NAME_MISMATCH, ANA_LIKELY},
    [ANA_HVD_LOOP_DEAD] = {ANA_CLASS_LOOP_DEAD, ANA_PROVEN},
    [ANA_HVD_INSIDE_OPERATION] = {ANA_CLASS_INSIDE, ANA_LIKELY},
    [ANA_HVD_STRAGGLER] = {ANA_CLASS_STRAGGLER, ANA_PROVEN},
    [ANA_HVD_EARLY_EXIT] = {ANA_CLASS_EARLY_EXIT, ANA_PROVEN},
    [ANA_HVD_CROSS_LIBRARY] = {ANA_CLASS_CYCLE, ANA_LIKELY},
};

static bool take(struct ana_case *c, bool straggler)
{
    const struct ana_hvd *hvd = ana_job_horovod(c->job);
    struct ana_hvd_finding f;
    if (hvd->sets == 0 || !ana_hvd_judge(c->job, hvd, c->rules.hang_ns, &f) || (f.id == ANA_HVD_STRAGGLER) != straggler)
        return false;
    for (size_t i = 0; i < f.culprits; i++) /* the rest of its file may say otherwise */
        if (!ana_case_events_known(c, f.culprit[i]))
            return false;
    /* What a killed rank had not submitted is not the cause. */
    if (!straggler && f.id != ANA_HVD_EARLY_EXIT && ana_died_first(c))
        return false;
    c->out->state = f.hung ? ANA_VERDICT_HUNG : f.id == ANA_HVD_EARLY_EXIT ? ANA_VERDICT_ABORTED : ANA_VERDICT_SLOW;
    c->out->id = as[f.id].id;
    c->out->confidence = as[f.id].confidence;
    for (size_t m = 0; m < hvd->set[f.set].ranks; m++) /* has no file */
        if (hvd->set[f.set].rank[m].index == SIZE_MAX && c->out->confidence == ANA_PROVEN)
            c->out->confidence = ANA_LIKELY;
    if (f.culprits == 0)
        c->out->confidence = ANA_POSSIBLE;
    c->out->since_ns = hvd->set[f.set].now_ns - f.since_ns;
    c->out->usual_ns = straggler ? 0 : f.usual_ns;
    for (size_t i = 0; i < f.culprits; i++)
        ana_case_blame(c, f.culprit[i]);
    ana_case_say(c, "%s", f.summary);
    for (size_t i = 0; i < f.lines; i++)
        ana_case_evidence(c, "%s", f.line[i]);
    ana_case_next(c, "%s", f.next);
    if (f.id == ANA_HVD_NOT_SUBMITTED || f.id == ANA_HVD_NAME_MISMATCH || f.id == ANA_HVD_CROSS_LIBRARY) {
        c->loops = &hvd->set[f.set];
        c->loops_since_ns = f.since_ns;
    }
    return true;
}

bool ana_find_horovod(struct ana_case *c)
{
    return take(c, false);
}

bool ana_find_horovod_straggler(struct ana_case *c)
{
    return take(c, true);
}
