/* The one verdict on a job: made when it is first asked for after something changed, and held for all who show it. */
#include "trace/job/inside.h"
#include "trace/job/upper.h"
#include "trace/util/times.h"
#include "trace/verdict/verdict_impl.h"
#include <stdlib.h>

#define LOOKED_AT 256u        /* culprits whose files are read at each look, whatever digests say */
#define LEAST_NS  200000000   /* between two looks */
#define HUNG_NS   30000000000 /* time without progress after which a wait is judged as a hang */

/* Makes the knowledge of a job kept from one verdict to the next; NULL: out of memory. */
static struct ana_judgement *judgement_new(void)
{
    struct ana_judgement *judgement = calloc(1, sizeof *judgement);
    if (judgement)
        *judgement = (struct ana_judgement){.rules = {1000000000, HUNG_NS, true}, .quiet_due_ns = INT64_MAX};
    return judgement;
}

static void judgement_free(struct ana_judgement *judgement)
{
    if (!judgement)
        return;
    ana_known_forget(judgement);
    free(judgement->samples.seen[0]);
    free(judgement->samples.seen[1]);
    ana_verdict_release(judgement->held ? &judgement->held->verdict : NULL);
    free(judgement);
}

static struct ana_held_verdict *holder_of(const struct ana_verdict *verdict)
{
    return (struct ana_held_verdict *)(uintptr_t)verdict;
}

const struct ana_verdict *ana_verdict_hold(const struct ana_verdict *verdict)
{
    if (verdict)
        holder_of(verdict)->holders++;
    return verdict;
}

void ana_verdict_release(const struct ana_verdict *verdict)
{
    if (!verdict || --holder_of(verdict)->holders > 0)
        return;
    ana_verdict_free(&holder_of(verdict)->verdict);
    free(holder_of(verdict));
}

const struct ana_verdict *ana_job_verdict(const struct ana_job *job)
{
    struct ana_members *members = ana_job_members(job);
    struct ana_judgement *judgement = ana_job_judgement(job);
    if (judgement->held && judgement->revision == members->revision)
        return &judgement->held->verdict;
    struct ana_held_verdict *anew = calloc(1, sizeof *anew);
    if (!anew || !ana_judge(job, &anew->verdict)) {
        free(anew);
        return NULL;
    }
    anew->holders = 1;
    ana_verdict_release(judgement->held ? &judgement->held->verdict : NULL);
    judgement->held = anew;
    judgement->revision = members->revision;
    members->hangs = anew->verdict.state == ANA_VERDICT_HUNG;
    return &anew->verdict;
}

struct ana_straggler *ana_job_straggler(const struct ana_job *job)
{
    return &ana_job_judgement(job)->straggler;
}

void ana_job_set_rules(struct ana_job *job, struct ana_verdict_rules rules)
{
    ana_job_judgement(job)->rules = rules;
    ana_job_members(job)->revision++;
}

void ana_job_set_hang(struct ana_job *job, double hang_s)
{
    int64_t hang_ns = (int64_t)(hang_s * 1e9);
    if (hang_s <= 0)
        return;
    int64_t proof_ns = hang_ns < 1000000000 ? hang_ns : 1000000000;
    ana_job_set_rules(job, (struct ana_verdict_rules){proof_ns, hang_ns, false});
}

int64_t ana_job_due(const struct ana_job *job)
{
    int64_t inside_ns = ana_inside_due(job), least_ns = ana_job_members(job)->read_ns + LEAST_NS;
    int64_t due_ns = ana_earlier(inside_ns, ana_job_judgement(job)->quiet_due_ns);
    return due_ns > least_ns ? due_ns : least_ns;
}

/* Adds a sample of a job that was just refreshed, and judges it. */
static void refreshed(struct ana_job *job)
{
    struct ana_members *members = ana_job_members(job);
    ana_samples_add(job);
    const struct ana_verdict *verdict = members->count ? ana_job_verdict(job) : NULL;
    for (size_t i = 0; verdict && i < verdict->culprits && i < LOOKED_AT; i++)
        trc_want(members->process[verdict->culprit[i]].rank.file);
}

void ana_verdict_enter(struct ana_upper *upper)
{
    upper->judgement_new = judgement_new;
    upper->judgement_free = judgement_free;
    upper->refreshed = refreshed;
}
