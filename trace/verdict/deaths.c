/* Processes that are gone, stopped or left early. */
#include "trace/job/site_words.h"
#include "trace/verdict/death.h"
#include "trace/verdict/verdict_impl.h"
#include <signal.h>
#include <string.h>

/* The place where a rank crashed or called exit, by its stack; NULL: not known. */
static const char *place_of_end(struct ana_case *c, size_t index, bool *overflow)
{
    char words[256] = "";
    const struct ana_stack *stack = ana_stack_of(ana_case_stacks(c), index);
    if (!stack || !(stack->flags & TRC_STACK_CRASHED))
        return NULL;
    *overflow = stack->flags & TRC_STACK_OVERFLOW;
    ana_stack_place_words(c->job, stack, words, sizeof words);
    return words[0] ? ana_case_text(c, words) : NULL;
}

bool ana_find_abort(struct ana_case *c)
{
    size_t first = SIZE_MAX, n = 0;
    for (size_t i = 0; i < c->count; i++) {
        if (c->members->process[i].rank.state != ANA_RANK_ABORTED)
            continue;
        n++;
        ana_case_blame(c, i);
        if (first == SIZE_MAX)
            first = i;
    }
    if (first == SIZE_MAX)
        return false;
    const struct ana_process *p = &c->members->process[first];
    const int handled = ana_death_of(c, first).handled;
    ana_case_set(c, ANA_VERDICT_ABORTED, ana_signal_is_error(handled) ? ANA_CLASS_DEAD : ANA_CLASS_EARLY_EXIT,
                 ANA_PROVEN);
    c->out->since_ns = c->members->end_ns - p->rank.end_ns;
    ANA_SUMMARY(c, ANA_SENTENCE_ABORTED, .who = ana_one_rank(first), .number = trc_head(p->rank.file)->abort_code,
                .more = (int64_t)n - 1);
    bool overflow;
    if (handled) {
        c->out->summary.name = ana_signal_name(handled);
        c->out->summary.other_name = place_of_end(c, first, &overflow);
    }
    const struct trc_sig *before = ana_case_known(c, first) ? ana_last_call(p->rank.file, NULL) : NULL;
    const struct trc_call *call = before ? trc_call(p->rank.file, before->call) : NULL;
    if (call && before->site && !trc_opclass_is(call->opclass, TRC_FACT_LOCAL))
        ANA_FACT(c, ANA_SENTENCE_CALL_BEFORE, .call = {.name = call->name}, .site = {first, before->site});
    return true;
}

/* Whether all members have come to a collective, but one member does nothing more. */
static bool waits_inside(const struct ana_case *c, uint32_t group)
{
    for (const struct ana_waiting *p = c->waiting; p < ana_waits(c, c->count); p++)
        if (p->group == group && p->blocked && !c->rank[p->index].gone)
            return true;
    return false;
}

bool ana_anybody_waits(struct ana_case *c)
{
    for (const struct ana_waiting *p = c->waiting; p < ana_waits(c, c->count); p++)
        if (c->rank[p->index].gone && p->group != ANA_NO_GROUP && waits_inside(c, p->group))
            return true;
    for (size_t i = 0; i < c->count; i++)
        if (!ana_rank_moves(c, i) && !c->rank[i].gone && ana_rank_blocked(c, i))
            return true;
    return ana_gpu_anybody_waits(c);
}

/* ---- one rank's end ---------------------------------------------------------------------------------------------- */

/* The call that a rank is inside, or else, as *last, the one that it completed last. */
static struct ana_call last_call(const struct ana_case *c, size_t index, struct ana_call *last)
{
    const struct ana_rank *r = &c->members->process[index].rank;
    const struct trc_sig *sig = ana_case_known(c, index) ? ana_last_call(r->file, NULL) : NULL;
    *last = (struct ana_call){0};
    if (r->inside && r->inside_sig && ana_case_known(c, index))
        return (struct ana_call){r->inside, trc_call(r->file, r->inside_sig->call)->opclass, index, r->inside_sig};
    if (sig)
        last->name = trc_call(r->file, sig->call)->name;
    return (struct ana_call){0};
}

/* Returns the other ranks that are gone in the same way. */
static struct ana_ranks others_gone(struct ana_case *c, size_t first)
{
    const enum ana_end how = ana_death_of(c, first).how;
    size_t *index = ana_case_room(c), n = 0;
    for (size_t i = 0; index && i < c->count; i++)
        if (i != first &&
            (c->rank[first].gone ? c->rank[i].gone : c->members->process[i].rank.state == ANA_RANK_DEAD) &&
            ana_death_of(c, i).how == how)
            index[n++] = i;
    return ana_ranks_at(index, n);
}

/* Chooses the sentence on how a rank left, by the end record in its file. */
static enum ana_sentence explain_left(const struct trc_end *end, const char *place)
{
    if (end->by == TRC_END_RETURN && place && strncmp(place, "_start", 6) != 0)
        return ANA_SENTENCE_LEFT_BY_EXIT; /* called from a library whose calls are not seen */
    static const enum ana_sentence by[TRC_END_WAYS] = {[TRC_END_UNSEEN] = ANA_SENTENCE_LEFT,
                                                       [TRC_END_EXIT] = ANA_SENTENCE_LEFT_BY_EXIT,
                                                       [TRC_END_RETURN] = ANA_SENTENCE_LEFT_BY_MAIN,
                                                       [TRC_END_EXIT_NOW] = ANA_SENTENCE_LEFT_AT_ONCE,
                                                       [TRC_END_QUICK] = ANA_SENTENCE_LEFT_BY_QUICK};
    return by[end->by];
}

static int signal_of(const struct ana_case *c, size_t index)
{
    const struct trc_file *file = ana_case_file(c, index);
    return trc_head(file)->end.signal ? trc_head(file)->end.signal : ana_crash_signal(file);
}

static enum ana_sentence explain_how(struct ana_case *c, size_t index, const char *place, bool overflow)
{
    const struct ana_process *p = &c->members->process[index];
    if (p->traced)
        return ANA_SENTENCE_HELD_BY_DEBUGGER;
    if (p->stopped)
        return ANA_SENTENCE_HELD_BY_SIGNAL;
    if (p->alive || (!p->by_pid && (c->live || p->rank.state == ANA_RANK_UNKNOWN)))
        return ANA_SENTENCE_SILENT;
    const struct ana_death death = ana_death_of(c, index);
    switch (death.how) {
    case ANA_END_CRASHED:
        return overflow ? ANA_SENTENCE_STACK_FULL : ana_signal_sentence(signal_of(c, index));
    case ANA_END_REFUSED:
        return ANA_SENTENCE_REFUSED;
    case ANA_END_LEFT:
        return p->rank.inside && !death.handled ? ANA_SENTENCE_ENDED_BY_MPI
                                                : explain_left(&trc_head(p->rank.file)->end, place);
    default:
        return ANA_SENTENCE_GONE;
    }
}

/* Returns the MPI library's reason for ending the process: MPICH's message, or the error class of Open MPI's exit code;
 * NULL: unknown. */
static const char *error_words(const struct ana_case *c, const struct trc_end *end)
{
    static const char *const open_mpi[] = {NULL,
                                           "MPI_ERR_BUFFER",
                                           "MPI_ERR_COUNT",
                                           "MPI_ERR_TYPE",
                                           "MPI_ERR_TAG: invalid tag",
                                           "MPI_ERR_COMM: invalid communicator",
                                           "MPI_ERR_RANK: invalid rank",
                                           "MPI_ERR_REQUEST",
                                           "MPI_ERR_ROOT: invalid root",
                                           "MPI_ERR_GROUP",
                                           "MPI_ERR_OP",
                                           "MPI_ERR_TOPOLOGY",
                                           "MPI_ERR_DIMS",
                                           "MPI_ERR_ARG",
                                           "MPI_ERR_UNKNOWN",
                                           "MPI_ERR_TRUNCATE: a message was longer than the room for it",
                                           "MPI_ERR_OTHER",
                                           "MPI_ERR_INTERN"};
    if (end->message[0])
        return end->message;
    bool known = strncmp(c->members->mpi, "Open MPI", 8) == 0 && end->code > 0 &&
                 (size_t)end->code < sizeof open_mpi / sizeof *open_mpi;
    return known ? open_mpi[end->code] : NULL;
}

/* Whether all ranks of the job left in one way, with one exit code, after the same call. */
static bool all_left_alike(struct ana_case *c, const struct ana_fact *fact, size_t first)
{
    const struct trc_end *end = &ana_case_head(c, first)->end;
    const char *name = fact->other_call.name;
    const bool left = fact->id == ANA_SENTENCE_LEFT_BY_EXIT || fact->id == ANA_SENTENCE_LEFT_AT_ONCE ||
                      fact->id == ANA_SENTENCE_LEFT_BY_QUICK || fact->id == ANA_SENTENCE_LEFT_BY_MAIN;
    bool alike = left && !fact->call.name && !fact->more && c->count > 1 && c->count == c->members->world_size &&
                 fact->others.n + 1 == c->count;
    for (size_t i = 0; alike && i < c->count; i++) {
        const struct trc_end *other = &ana_case_head(c, i)->end;
        struct ana_call last;
        const bool is_outside = !last_call(c, i, &last).name;
        alike = is_outside && other->by == end->by && other->code == end->code &&
                (name == last.name || (name && last.name && strcmp(name, last.name) == 0));
    }
    return alike;
}

/* Names all ranks in place of the first. */
static void say_all_left(struct ana_case *c)
{
    struct ana_fact *fact = &c->out->summary;
    size_t *index = ana_case_room(c), n = 0;
    for (size_t i = 0; index && i < c->count; i++)
        index[n++] = i;
    fact->who = ana_ranks_at(index, n);
    fact->others = (struct ana_ranks){0};
    ana_case_blame_all(c, fact->who);
    ANA_NEXT(c, fact->number ? ANA_SENTENCE_NEXT_ALL_LEFT : ANA_SENTENCE_NEXT_NO_FINALIZE, .number = fact->number);
}

static void explain_gone(struct ana_case *c, size_t first)
{
    const struct ana_process *p = &c->members->process[first];
    const struct trc_end *end = &trc_head(p->rank.file)->end;
    bool overflow = false;
    struct ana_fact fact = {ANA_SENTENCE_GONE, .who = ana_one_rank(first), .number = end->code};
    fact.of = !ana_case_known(c, first) || c->members->process[first].rank.off;
    fact.other_name = place_of_end(c, first, &overflow);
    fact.id = explain_how(c, first, fact.other_name, overflow);
    char site[ANA_CALLER] = "";
    if (fact.id == ANA_SENTENCE_REFUSED && !fact.other_name) /* killed before its stack was taken */
        ana_site_words(c->job, first, p->rank.inside_sig->site, site, sizeof site);
    fact.other_name = *site ? ana_case_text(c, site) : fact.other_name;
    fact.call = last_call(c, first, &fact.other_call);
    fact.others = others_gone(c, first);
    fact.name = fact.id == ANA_SENTENCE_ENDED_BY_MPI ? error_words(c, end) : ana_signal_name(signal_of(c, first));
    fact.more = ana_death_of(c, first).handled;
    c->out->summary = fact;
    if (all_left_alike(c, &fact, first))
        say_all_left(c);
    if (end->message[0] && fact.id != ANA_SENTENCE_ENDED_BY_MPI)
        ANA_FACT(c, ANA_SENTENCE_LAST_WORDS, .name = ana_case_text(c, end->message));
    if (fact.id == ANA_SENTENCE_REFUSED || fact.id == ANA_SENTENCE_ENDED_BY_MPI)
        ANA_NEXT(c, ANA_SENTENCE_NEXT_REFUSED);
    if (fact.id == ANA_SENTENCE_FILE_TOO_LARGE || fact.id == ANA_SENTENCE_OUT_OF_TIME)
        ANA_NEXT(c, ANA_SENTENCE_NEXT_LIMIT);
    if (p->traced || p->stopped)
        ANA_NEXT(c, p->traced ? ANA_SENTENCE_NEXT_DEBUGGER : ANA_SENTENCE_NEXT_STOPPED, .number = p->rank.pid,
                 .name = p->rank.host);
}

/* Adds what the ends of the others tell of the first one. */
static void explain_others(struct ana_case *c, const struct ana_deaths *d, int64_t since)
{
    const struct ana_rank *first = &c->members->process[d->first].rank;
    if (ana_death_of(c, d->first).how != ANA_END_VANISHED || first->state != ANA_RANK_DEAD || c->live)
        return;
    if (trc_head(first->file)->end.watched >> (SIGSEGV - 1) & 1) /* a full stack leaves no room for a handler */
        ANA_FACT(c, ANA_SENTENCE_UNNOTED);
    if (d->told) {
        const struct ana_rank *teller = &c->members->process[d->teller].rank;
        const struct trc_end *end = &trc_head(teller->file)->end;
        if (end->memory_kills > end->memory_before && strcmp(teller->host, first->host) == 0)
            ANA_FACT(c, ANA_SENTENCE_MEMORY_KILLS, .count = (int64_t)(end->memory_kills - end->memory_before),
                     .name = first->host);
        ANA_FACT(c, d->lost ? ANA_SENTENCE_OTHERS_LOST : ANA_SENTENCE_OTHERS_TOLD, .name = ana_signal_name(end->signal),
                 .other_name = end->sender_name, .time = d->told_ns - first->end_ns);
    } else if (d->ahead_ns) {
        ANA_FACT(c, ANA_SENTENCE_SEEN_FIRST, .time = d->ahead_ns);
    } else if (c->rank[d->first].gone) {
        /* A stopped process that was killed with the others looks the same: its heartbeat ended before theirs. */
        ANA_FACT(c, ANA_SENTENCE_HEART_FIRST, .time = since);
    }
}

static void fill(struct ana_case *c, const struct ana_deaths *d, enum ana_confidence confidence)
{
    const struct ana_process *p = &c->members->process[d->first];
    enum ana_end how = ana_death_of(c, d->first).how;
    c->out->id = how == ANA_END_LEFT || how == ANA_END_REFUSED ? ANA_CLASS_EARLY_EXIT : ANA_CLASS_DEAD;
    c->out->confidence = confidence;
    int64_t since = c->members->end_ns - p->rank.end_ns;
    if (c->live && !p->by_pid)
        since = p->silent_ns;
    else if (p->alive)
        since = c->members->end_ns - p->heartbeat_ns;
    c->out->since_ns = since > 0 ? since : 0;
    ana_case_blame(c, d->first);
    explain_gone(c, d->first);
    explain_others(c, d, c->out->since_ns);
}

/* A job that hung is killed, and on a busy machine that takes seconds: then the rank that ended first is not the cause.
 * Horovod's loops hung for longer before that than there was time after it. */
bool ana_hung_before(struct ana_case *c, int64_t first_end_ns)
{
    int64_t since_ns = c->live ? INT64_MAX : ana_loops_hung_since(c);
    return since_ns != INT64_MAX && first_end_ns - since_ns > c->members->end_ns - first_end_ns;
}

/* Whether other ranks of its host are heard: then neither the host nor the network to it is slow. */
static bool others_there_are_heard(const struct ana_case *c, size_t index)
{
    for (size_t i = 0; i < c->count; i++)
        if (i != index && c->members->process[i].alive &&
            strcmp(c->members->process[i].host, c->members->process[index].host) == 0)
            return true;
    return false;
}

static void explain_silent(struct ana_case *c, size_t index)
{
    const struct ana_process *p = &c->members->process[index];
    ANA_FACT(c, ANA_SENTENCE_UNSEEN, .time = p->silent_ns);
    if (others_there_are_heard(c, index))
        ANA_FACT(c, ANA_SENTENCE_OTHERS_HEARD, .name = p->host);
    ANA_NEXT(c, ANA_SENTENCE_NEXT_EXISTS, .number = p->rank.pid, .name = p->host);
}

static bool is_anybody_gone(const struct ana_case *c)
{
    for (size_t i = 0; i < c->count; i++)
        if (c->rank[i].gone)
            return true;
    return false;
}

bool ana_find_gone(struct ana_case *c)
{
    struct ana_deaths d = ana_deaths_find(c, c->live ? ANA_OF_GONE : ANA_OF_GONE | ANA_OF_DEAD);
    if (!is_anybody_gone(c) || d.gone == 0 || ana_hung_before(c, d.first_ns))
        return false;
    if (d.first == SIZE_MAX) {
        ana_explain_killed(c, &d, d.told == d.gone ? ANA_PROVEN : ANA_POSSIBLE);
        return true;
    }
    const struct ana_process *p = &c->members->process[d.first];
    bool waits = ana_anybody_waits(c);
    bool silent = c->live && !p->by_pid && p->rank.state != ANA_RANK_ABORTED; /* all that is known of it */
    bool doubt = silent && (p->rank.state == ANA_RANK_UNKNOWN || p->alive);
    bool seen = c->live || d.certain || d.told || d.gone == 1; /* not by heartbeats alone */
    /* Suspended or silent for a short time, and nobody waits for it. */
    if ((p->alive || doubt) && !waits)
        return false;
    /* A job that outlives one of its ranks shows the launcher's habit, not the trouble. */
    if (!c->live && c->members->end_ns - ana_death_of(c, d.first).at_ns < c->rules.hang_ns)
        waits = false;
    c->out->state = !waits                                     ? ANA_VERDICT_ABORTED
                    : doubt && p->silent_ns < c->rules.hang_ns ? ANA_VERDICT_UNKNOWN
                                                               : ANA_VERDICT_HUNG;
    fill(c, &d,
         !silent                                        ? (p->alive || !seen ? ANA_LIKELY : ANA_PROVEN)
         : doubt && !others_there_are_heard(c, d.first) ? ANA_POSSIBLE
                                                        : ANA_LIKELY);
    if (silent)
        explain_silent(c, d.first);
    return true;
}

bool ana_died_first(struct ana_case *c)
{
    if (c->live)
        return false;
    struct ana_deaths d = ana_deaths_find(c, ANA_OF_DEAD);
    return d.first != SIZE_MAX && d.in_turn && !ana_hung_before(c, d.first_ns);
}

static bool any_unknown(const struct ana_case *c)
{
    for (size_t i = 0; i < c->count; i++)
        if (!ana_case_known(c, i))
            return true;
    return false;
}

/* Whether all did nothing more for a while before their ends. */
static bool all_stood_still(struct ana_case *c)
{
    const char *call;
    for (size_t i = 0; i < c->count; i++)
        if (c->members->process[i].rank.state == ANA_RANK_DEAD && !ana_rank_blocked(c, i) &&
            (ana_still_ns(c, i, &call) < c->rules.proof_ns || call))
            return false;
    return true;
}

/* All ended at about one time, and nothing hung before: one rank took the others along, or all were killed. */
bool ana_find_killed(struct ana_case *c)
{
    struct ana_deaths d = ana_deaths_find(c, ANA_OF_DEAD);
    if (d.gone == 0)
        return ana_explain_late_crash(c, &d);
    if (d.first != SIZE_MAX) {
        c->out->state = ANA_VERDICT_ABORTED;
        fill(c, &d, d.certain ? ANA_PROVEN : ANA_LIKELY);
        return true;
    }
    if (d.told < d.gone && any_unknown(c))
        return false; /* it may have hung before */
    ana_explain_killed(c, &d,
                       d.told == d.gone                    ? ANA_PROVEN
                       : all_stood_still(c) && !d.ahead_ns ? ANA_LIKELY
                                                           : ANA_POSSIBLE);
    return true;
}
