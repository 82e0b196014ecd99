/* Ranks that were killed, all at once or one after the other: then the evidence is where each was, and since when. */
#include "trace/verdict/death.h"
#include "trace/verdict/verdict_impl.h"
#include <signal.h>
#include <string.h>

#define PLACES_MAX 8 /* places that are named */

/* Ranks that stood in the same call, or outside MPI. */
struct place {
    const char *call; /* NULL: outside */
    size_t *index, n;
    int64_t least_ns, most_ns;
};

int64_t ana_still_ns(struct ana_case *c, size_t index, const char **call)
{
    const struct ana_process *p = &c->members->process[index];
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

static void explain_places(struct ana_case *c)
{
    struct place place[PLACES_MAX];
    size_t n = 0;
    for (size_t i = 0; i < c->count; i++) {
        const char *call;
        int64_t stood = ana_still_ns(c, i, &call);
        bool known = c->members->process[i].rank.state == ANA_RANK_DEAD && ana_process_beats(ana_case_head(c, i)) &&
                     !c->members->process[i].rank.off;
        struct place *p = known ? place_of(place, &n, call) : NULL;
        if (p && !p->index)
            p->index = ana_case_room(c);
        if (!p || !p->index)
            continue;
        p->index[p->n++] = i;
        p->least_ns = stood < p->least_ns ? stood : p->least_ns;
        p->most_ns = stood > p->most_ns ? stood : p->most_ns;
    }
    for (const struct place *p = place; p < place + n; p++) {
        bool alike = p->most_ns - p->least_ns <= p->least_ns / 10;
        ANA_FACT(c, ANA_SENTENCE_STOOD, .who = ana_ranks_at(p->index, p->n), .call = {.name = p->call},
                 .time = p->least_ns, .other_time = alike ? 0 : p->most_ns);
    }
}

static void explain_told(struct ana_case *c, const struct ana_deaths *d, struct ana_fact *fact)
{
    const struct trc_end *end = &ana_case_head(c, d->teller)->end;
    bool piped = end->signal == SIGPIPE;
    if (!d->teller_left && !piped) {
        fact->id = ANA_SENTENCE_TOLD_TO_END;
        fact->name = ana_signal_name(end->signal);
        fact->other_name = end->sender_name;
        fact->number = end->sender;
        fact->count = (int64_t)d->told;
        fact->of = d->told == c->count;
    } else {
        fact->id = ana_death_of(c, d->teller).in_handler ? ANA_SENTENCE_LEFT_IN_HANDLER : ANA_SENTENCE_ENDED_BY_LIBRARY;
        fact->number = end->code;
        fact->name = piped ? "SIGPIPE" : NULL;
    }
}

/* Names the ranks that noted no signal: nobody saw how they ended. */
static void explain_silent(struct ana_case *c)
{
    size_t *index = ana_case_room(c), n = 0;
    for (size_t i = 0; index && i < c->count; i++)
        if (c->members->process[i].rank.state == ANA_RANK_DEAD && ana_death_of(c, i).how == ANA_END_VANISHED)
            index[n++] = i;
    if (n)
        ANA_FACT(c, ANA_SENTENCE_NO_WORD, .who = ana_ranks_at(index, n));
}

static bool have_beaten(const struct ana_case *c)
{
    for (size_t i = 0; i < c->count; i++)
        if (ana_process_beats(ana_case_head(c, i)))
            return true;
    return false;
}

/* Returns the first rank that ended with an exit code or a signal after MPI_Finalize before any was told to end;
 * SIZE_MAX: none. */
static size_t find_exited(const struct ana_case *c, const struct ana_deaths *d)
{
    size_t first = SIZE_MAX;
    int64_t first_ns = d->told_ns;
    for (size_t i = 0; i < c->count; i++) {
        const struct ana_rank *rank = &c->members->process[i].rank;
        const struct trc_end *end = &trc_head(rank->file)->end;
        const int64_t at_ns = ana_time_within(ana_clock_job_time(c->members->clock, i, end->ticks));
        if (rank->state == ANA_RANK_DONE && end->by && (end->code || end->signal) && at_ns < first_ns) {
            first = i;
            first_ns = at_ns;
        }
    }
    return first;
}

/* Blames a rank whose exit code or crash made the launcher end the others. */
static void explain_exited(struct ana_case *c, const struct ana_deaths *d, size_t index)
{
    const struct trc_end *told = &ana_case_head(c, d->teller)->end, *end = &ana_case_head(c, index)->end;
    c->out->id = end->signal ? ANA_CLASS_DEAD : ANA_CLASS_EARLY_EXIT;
    ana_case_blame(c, index);
    ANA_SUMMARY(c, ANA_SENTENCE_EXITED, .who = ana_one_rank(index), .others = ana_one_rank(d->teller),
                .of = d->told > 1, .number = end->code, .name = ana_signal_name(told->signal),
                .other_name = told->sender_name, .value = end->signal ? ana_signal_name(end->signal) : NULL);
    if (!end->signal)
        ANA_NEXT(c, ANA_SENTENCE_NEXT_EXITED);
}

bool ana_explain_late_crash(struct ana_case *c, const struct ana_deaths *d)
{
    const size_t index = find_exited(c, d);
    const int signal = index == SIZE_MAX ? 0 : ana_case_head(c, index)->end.signal;
    if (!signal)
        return false;
    ana_case_set(c, ANA_VERDICT_ABORTED, ANA_CLASS_DEAD, ANA_PROVEN);
    ana_case_blame(c, index);
    ANA_SUMMARY(c, ANA_SENTENCE_LATE_CRASH, .who = ana_one_rank(index), .name = ana_signal_name(signal));
    return true;
}

void ana_explain_killed(struct ana_case *c, const struct ana_deaths *d, enum ana_confidence confidence)
{
    const size_t exited = d->told && !d->teller_left ? find_exited(c, d) : SIZE_MAX;
    ana_case_set(c, ANA_VERDICT_ABORTED, ANA_CLASS_KILLED, confidence);
    c->out->since_ns = 0;
    if (exited != SIZE_MAX) {
        explain_exited(c, d, exited);
        return;
    }
    if (ana_explain_killed_at_start(c)) {
        ana_case_set(c, ANA_VERDICT_ABORTED, ANA_CLASS_MISSING, ANA_POSSIBLE);
        return;
    }
    struct ana_fact fact = {.count = (int64_t)d->gone, .of = d->gone == c->count};
    if (d->told) {
        explain_told(c, d, &fact);
    } else if (d->in_turn) {
        fact.id = ANA_SENTENCE_KILLED_IN_TURN;
        fact.time = d->last_ns - d->first_ns;
    } else {
        fact.id = ANA_SENTENCE_KILLED;
        fact.more = confidence == ANA_POSSIBLE;
    }
    c->out->summary = fact;
    if (d->told && d->told < d->gone)
        explain_silent(c);
    if (!d->told && !d->in_turn && have_beaten(c))
        ANA_FACT(c, ANA_SENTENCE_HEARTS_TOGETHER);
    explain_places(c);
}
