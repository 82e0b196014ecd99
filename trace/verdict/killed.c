/* All ranks were killed at once: then the evidence is where each was, and since when. */
#include "trace/verdict/verdict_impl.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PLACES_MAX 8 /* that are told */

/* Ranks that stood in the same call, or outside MPI. */
struct place {
    const char *call; /* NULL: outside */
    size_t *index, n;
    int64_t least_ns, most_ns;
};

static int64_t stood_for(struct ana_case *c, size_t index, const char **call)
{
    const struct ana_process *p = &c->job->process[index];
    *call = p->rank.inside;
    if (p->rank.inside)
        return p->rank.inside_ns;
    int64_t last = p->last_end_ns > p->rank.begin_ns ? p->last_end_ns : p->rank.begin_ns;
    return p->rank.end_ns - last;
}

static struct place *place_of(struct place *place, size_t *n, const char *call)
{
    for (size_t k = 0; k < *n; k++)
        if (call == place[k].call || (call && place[k].call && strcmp(call, place[k].call) == 0))
            return &place[k];
    if (*n == PLACES_MAX)
        return NULL;
    place[*n] = (struct place){.call = call, .least_ns = INT64_MAX};
    return &place[(*n)++];
}

static void say_place(struct ana_case *c, const struct place *p)
{
    char who[128], least[ANA_TEXT], most[ANA_TEXT];
    ana_rank_list(c->job, p->index, p->n, who, sizeof who);
    ana_spoken(least, sizeof least, (double)p->least_ns);
    ana_spoken(most, sizeof most, (double)p->most_ns);
    bool same = strcmp(least, most) == 0;
    ana_case_evidence(c, "%s had been %s%s for %s%s%s", who, p->call ? "in " : "outside MPI", p->call ? p->call : "",
                      least, same ? "" : " to ", same ? "" : most);
}

static void say_places(struct ana_case *c)
{
    struct place place[PLACES_MAX];
    size_t n = 0;
    for (size_t i = 0; i < c->count; i++) {
        const char *call;
        int64_t stood = stood_for(c, i, &call);
        struct place *p = c->job->process[i].rank.state == ANA_RANK_DEAD ? place_of(place, &n, call) : NULL;
        if (p && !p->index)
            p->index = malloc(c->count * sizeof *p->index);
        if (!p || !p->index)
            continue;
        p->index[p->n++] = i;
        p->least_ns = stood < p->least_ns ? stood : p->least_ns;
        p->most_ns = stood > p->most_ns ? stood : p->most_ns;
    }
    for (size_t k = 0; k < n; k++) {
        if (place[k].n)
            say_place(c, &place[k]);
        free(place[k].index);
    }
}

void ana_say_killed(struct ana_case *c, size_t n, enum ana_confidence confidence)
{
    c->out->state = ANA_VERDICT_ABORTED;
    c->out->id = ANA_CLASS_KILLED;
    c->out->confidence = confidence;
    c->out->since_ns = 0;
    ana_case_say(c, "%s%zu ranks are gone at once without MPI_Finalize: killed from outside%s",
                 n == c->count ? "all " : "", n, confidence == ANA_LIKELY ? "" : ", or one took the others along");
    ana_case_evidence(c, "all heartbeats ended together: killed then, or stopped (SIGSTOP, freezer) and killed later");
    say_places(c);
}
