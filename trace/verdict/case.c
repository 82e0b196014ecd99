/* One judgement: what all detectors read and write. */
#include "trace/verdict/verdict_impl.h"
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LINES_MAX 24

bool ana_case_settle(struct ana_case *c, enum ana_verdict_class id, enum ana_confidence confidence, int64_t lasted_ns)
{
    int64_t least = confidence == ANA_PROVEN ? c->rules.proof_ns : c->rules.hang_ns;
    /* One sample of a running job is not enough, unless what it shows began long ago. */
    if (c->live && (c->samples->taken < 2) && least < c->rules.hang_ns)
        least = c->rules.hang_ns;
    if (lasted_ns < least)
        return false;
    c->out->state = ANA_VERDICT_HUNG;
    c->out->id = id;
    c->out->confidence = confidence;
    c->out->since_ns = lasted_ns;
    return true;
}

bool ana_case_ended(const struct ana_case *c, size_t index)
{
    const struct ana_rank *r = &c->job->process[index].rank;
    return r->state == ANA_RANK_DONE || (!r->counted && trc_head(r->file)->state == TRC_STATE_FINALIZED);
}

int64_t ana_case_lasted(const struct ana_case *c, const size_t *index, size_t n)
{
    int64_t least = INT64_MAX;
    for (size_t k = 0; k < n; k++)
        for (size_t i = c->first_waiting[index[k]]; i < c->first_waiting[index[k] + 1]; i++)
            if (c->waiting[i].blocked && c->waiting[i].lasted_ns < least)
                least = c->waiting[i].lasted_ns;
    return least == INT64_MAX ? 0 : least;
}

bool ana_case_known(const struct ana_case *c, size_t index)
{
    return c->job->process[index].rank.counted;
}

bool ana_case_events_known(const struct ana_case *c, size_t index)
{
    return ana_case_known(c, index) && !trc_truncated(c->job->process[index].rank.file);
}

void ana_case_say(struct ana_case *c, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(c->out->summary, sizeof c->out->summary, format, args);
    va_end(args);
}

void ana_case_evidence(struct ana_case *c, const char *format, ...)
{
    char text[512];
    va_list args;
    struct ana_verdict *v = c->out;
    if (v->lines >= LINES_MAX)
        return;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    char **grown = realloc(v->line, (v->lines + 1) * sizeof *grown);
    if (grown)
        v->line = grown;
    char *copy = grown ? strdup(text) : NULL;
    if (copy)
        v->line[v->lines++] = copy;
    else
        c->memory = true;
}

void ana_case_blame(struct ana_case *c, size_t index)
{
    struct ana_verdict *v = c->out;
    size_t at = 0;
    while (at < v->culprits && v->culprit[at] < index)
        at++;
    if (index == SIZE_MAX || (at < v->culprits && v->culprit[at] == index))
        return;
    size_t *grown = realloc(v->culprit, (v->culprits + 1) * sizeof *grown);
    if (!grown) {
        c->memory = true;
        return;
    }
    v->culprit = grown;
    memmove(grown + at + 1, grown + at, (v->culprits++ - at) * sizeof *grown);
    grown[at] = index;
}
