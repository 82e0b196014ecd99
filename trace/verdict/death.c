#include "trace/util/times.h"
#include "trace/verdict/death.h"
#include "trace/verdict/verdict_impl.h"
#include <signal.h>
#include <string.h>

#define LEFT_NS   INT64_C(10000000000) /* a rank that lives on for so long was left, not killed in turn */
#define BEFORE_NS 200000000            /* two heartbeats: who ended before somebody was told to end (PRRTE: 0.25 s) */
#define BEATS_NS  150000000            /* heartbeats of processes that ended together end within this */
#define MOMENT_NS 1000000000           /* a heartbeat and more: a call that lasts longer does not return at once */
#define SELDOM                                                                                                         \
    0.01 /* share of its time that a rank spent in such calls: as likely a kill at any moment meets it there */
#define SEEN_NS  4000000  /* ends seen by another process so far apart may not be of one sweep of kill -9 */
#define FIRST_NS 10000000 /* the first of ends so far apart is named: a launcher ended the others */
#define STEADY   3        /* the first ended that many times further from the others than they did from each other */

/* Cause of a signal: another process, the process or its own action, an error of the process. */
enum cause { OUTSIDE, OWN, ERROR };
static const struct signal {
    int number;
    const char *name;
    enum cause cause;
    enum ana_sentence says; /* sentence on a process that caused the signal and was ended by it */
} signals[] = {{SIGHUP, "SIGHUP", OUTSIDE, ANA_SENTENCE_ENDED_ITSELF},
               {SIGINT, "SIGINT", OUTSIDE, ANA_SENTENCE_ENDED_ITSELF},
               {SIGQUIT, "SIGQUIT", OUTSIDE, ANA_SENTENCE_ENDED_ITSELF},
               {SIGTERM, "SIGTERM", OUTSIDE, ANA_SENTENCE_ENDED_ITSELF},
               {SIGUSR1, "SIGUSR1", OUTSIDE, ANA_SENTENCE_ENDED_ITSELF},
               {SIGUSR2, "SIGUSR2", OUTSIDE, ANA_SENTENCE_ENDED_ITSELF},
               {SIGILL, "SIGILL", ERROR, ANA_SENTENCE_CRASHED},
               {SIGABRT, "SIGABRT", ERROR, ANA_SENTENCE_CRASHED},
               {SIGBUS, "SIGBUS", ERROR, ANA_SENTENCE_CRASHED},
               {SIGFPE, "SIGFPE", ERROR, ANA_SENTENCE_CRASHED},
               {SIGSEGV, "SIGSEGV", ERROR, ANA_SENTENCE_CRASHED},
               {SIGSYS, "SIGSYS", OWN, ANA_SENTENCE_CRASHED},
               {SIGPIPE, "SIGPIPE", OWN, ANA_SENTENCE_ENDED_BY_SIGNAL},
               {SIGALRM, "SIGALRM", OWN, ANA_SENTENCE_ENDED_BY_SIGNAL},
               {SIGXCPU, "SIGXCPU", OWN, ANA_SENTENCE_OUT_OF_TIME},
               {SIGXFSZ, "SIGXFSZ", OWN, ANA_SENTENCE_FILE_TOO_LARGE},
               {0, "a signal", OUTSIDE, ANA_SENTENCE_CRASHED}};

/* The row of a signal; the last one for a number that is not in the table. */
static const struct signal *signal_of(int number)
{
    const struct signal *row = signals;
    while (row->number && row->number != number)
        row++;
    return row;
}

const char *ana_signal_name(int number)
{
    return signal_of(number)->name;
}

enum ana_sentence ana_signal_sentence(int number)
{
    return signal_of(number)->says;
}

static bool is_sent_to_itself(const struct trc_head *head)
{
    return head->end.sender && head->end.sender == head->pid;
}

/* Whether nobody else has sent itself that signal: of several, each may have been told by it, and repeat it to itself
 * behind a handler. */
static bool is_the_only_one(const struct ana_case *c, size_t index)
{
    for (size_t i = 0; i < c->count; i++)
        if (i != index && is_sent_to_itself(ana_case_head(c, i)) &&
            ana_case_head(c, i)->end.signal == ana_case_head(c, index)->end.signal)
            return false;
    return true;
}

static bool is_own_signal(const struct ana_case *c, size_t index)
{
    const struct trc_end *end = &ana_case_head(c, index)->end;
    const struct signal *row = signal_of(end->signal);
    if (is_sent_to_itself(ana_case_head(c, index)))
        return row->number && (row->cause != OUTSIDE || is_the_only_one(c, index));
    return row->cause != OUTSIDE && end->sender == 0;
}

int ana_crash_signal(const struct trc_file *file)
{
    for (size_t i = 0; i < trc_stacks(file); i++)
        if (trc_stack(file, i)->def.flags & TRC_STACK_CRASHED && trc_stack(file, i)->def.signal)
            return trc_stack(file, i)->def.signal;
    return 0;
}

bool ana_signal_is_error(int number)
{
    return signal_of(number)->cause == ERROR;
}

/* Finds in whose handler a rank left by exit() and the like. */
static void look_at_handler(struct ana_case *c, size_t index, struct ana_death *death)
{
    const struct ana_stack *stack = ana_stack_of(ana_case_stacks(c), index);
    const struct trc_end *end = &ana_case_head(c, index)->end;
    const bool exits = stack && stack->reason == TRC_STACK_EXIT;
    const bool in_handler = (exits && stack->flags & TRC_STACK_IN_HANDLER) ||
                            (end->by != TRC_END_SIGNAL && end->signal); /* the stack may not have been taken in time */
    if (in_handler)
        death->handled = exits ? stack->signal : is_own_signal(c, index) ? end->signal : 0;
    death->in_handler = in_handler && !death->handled;
}

/* Nobody waits any more for a rank in MPI_Finalize: its end is no cause. */
static bool finalizes(const struct ana_case *c, size_t index)
{
    const struct ana_rank *r = &c->members->process[index].rank;
    return r->inside_sig && trc_call(r->file, r->inside_sig->call)->opclass == TRC_OP_FINALIZE;
}

/* Whether it left for others: in a signal's handler, or by the MPI library, which ends the process when its launcher is
 * gone: in a thread of its own, or in MPI_Finalize. */
static bool was_made_to_leave(struct ana_case *c, size_t index, const struct ana_death *death)
{
    const struct ana_stack *stack = ana_stack_of(ana_case_stacks(c), index);
    if (death->in_handler || !stack || stack->left || stack->reason != TRC_STACK_EXIT)
        return death->in_handler || (stack && stack->left);
    return ana_stack_is_library(stack) || (finalizes(c, index) && ana_stack_is_called_by_library(stack));
}

/* Whether a call neither waits nor moves data, so that a process that is killed is hardly ever met inside it. */
static bool returns_at_once(const struct trc_call *call)
{
    switch (call->opclass) {
    case TRC_OP_SEND:
        return strncmp(call->name, "MPI_Bsend", 9) == 0;
    case TRC_OP_ISEND:
    case TRC_OP_ISSEND:
    case TRC_OP_IRECV:
    case TRC_OP_ISENDRECV:
    case TRC_OP_START:
    case TRC_OP_REQUEST:
        return true;
    default:
        return !trc_opclass_is(call->opclass, TRC_FACT_WAITS);
    }
}

/* Whether a message goes to a rank that its communicator does not have. */
static bool has_no_partner(const struct ana_rank *r)
{
    const struct trc_comm *comm = trc_comm(r->file, r->inside_sig->comm);
    return comm && r->inside_sig->flags & TRC_SIG_P2P_OUT && r->inside_sig->peer == TRC_PEER_UNKNOWN;
}

/* Whether it ended just after it came into such a call, and has seldom been in one, or into one that is an error. */
static bool was_refused(const struct ana_rank *r)
{
    if (!r->inside_sig || r->inside_ns > MOMENT_NS)
        return false;
    if (has_no_partner(r))
        return true;
    if (!returns_at_once(trc_call(r->file, r->inside_sig->call)))
        return false;
    double ticks = 0;
    for (size_t t = 0, n; t < trc_threads(r->file); t++) {
        const struct trc_counter *row = trc_rows(r->file, t, &n);
        for (size_t k = 0; k < n; k++)
            ticks += row[k].call_plus_1 == r->inside_sig->call + 1 ? (double)row[k].ticks : 0;
    }
    return ticks * trc_ns_per_tick(r->file) < SELDOM * (double)(r->end_ns - r->begin_ns);
}

struct ana_death ana_death_of(struct ana_case *c, size_t index)
{
    const struct ana_rank *r = &c->members->process[index].rank;
    const struct trc_head *head = trc_head(r->file);
    struct ana_death death = {.how = ANA_END_NONE, .at_ns = ana_time_within(r->end_ns)};
    bool left = head->flags & TRC_HEAD_EXITED || (head->end.by && head->end.by != TRC_END_SIGNAL);
    if (r->state == ANA_RANK_ABORTED || (r->state == ANA_RANK_DEAD && left))
        look_at_handler(c, index, &death);
    if (r->state != ANA_RANK_DEAD)
        return death;
    if (head->end.by == TRC_END_SIGNAL)
        death.how = is_own_signal(c, index) ? ANA_END_CRASHED : ANA_END_TOLD;
    else
        death.how = left && head->end.by && was_made_to_leave(c, index, &death) ? ANA_END_TOLD
                    : left                      ? ana_signal_is_error(death.handled) ? ANA_END_CRASHED : ANA_END_LEFT
                    : ana_crash_signal(r->file) ? ANA_END_CRASHED
                    : was_refused(r)            ? ANA_END_REFUSED
                                                : ANA_END_VANISHED;
    if (head->end.by)
        death.at_ns = ana_time_within(ana_clock_job_time(c->members->clock, index, head->end.ticks));
    else if (!ana_process_beats(head)) /* nothing tells when */
        death.at_ns = c->members->end_ns > death.at_ns ? c->members->end_ns : death.at_ns;
    return death;
}

/* Whether it would have noted a signal that told it to end.  A program with a handler of its own may be told, and
 * nobody learns of it. */
static bool would_have_noted(struct ana_case *c, size_t index)
{
    return ana_case_head(c, index)->end.watched >> (SIGTERM - 1) & 1;
}

/* Ends of some ranks in order of time: the first two and the last. */
struct ends {
    size_t n, first; /* first: SIZE_MAX: none */
    int64_t first_ns, next_ns, last_ns;
};
static const struct ends no_ends = {0, SIZE_MAX, INT64_MAX, INT64_MAX, INT64_MIN};

static void add_end(struct ends *ends, size_t index, int64_t at_ns)
{
    const bool first = at_ns < ends->first_ns;
    ends->n++;
    ends->next_ns = first ? ends->first_ns : ana_earlier(ends->next_ns, at_ns);
    ends->first = first ? index : ends->first;
    ends->first_ns = ana_earlier(ends->first_ns, at_ns);
    ends->last_ns = at_ns > ends->last_ns ? at_ns : ends->last_ns;
}

/* Results of the walk over the ends. */
struct walk {
    struct ends all, own, vanished;
    struct ends seen; /* ranks without a note of their own, seen by hpctop record */
    size_t pipes;     /* number of ranks that SIGPIPE ended */
    size_t before;    /* number of ranks that clearly vanished before any rank was told to end */
};

static void note_told(struct ana_case *c, size_t index, int64_t at_ns, struct ana_deaths *d)
{
    const struct trc_head *head = ana_case_head(c, index);
    bool better = d->teller == SIZE_MAX || (head->end.by == TRC_END_SIGNAL && (at_ns < d->told_ns || d->teller_left));
    if (better) {
        d->teller = index;
        d->teller_left = head->end.by != TRC_END_SIGNAL;
    }
    d->told++;
    d->told_ns = at_ns < d->told_ns ? at_ns : d->told_ns;
}

static int32_t ended_by(const struct ana_case *c, size_t index)
{
    return ana_case_head(c, index)->end.signal;
}

/* Time when the last call of a thread of the rank failed in Gloo, the earliest of several: an exception ends Horovod's
 * loop as soon as another rank is gone.  INT64_MAX: no last call did. */
static int64_t lost_ns(const struct ana_case *c, size_t index)
{
    const struct trc_file *file = ana_case_file(c, index);
    int64_t at_ns = INT64_MAX;
    for (size_t t = 0; t < trc_threads(file); t++) {
        const struct trc_thread *live = trc_thread(file, t);
        const struct trc_sig *sig = trc_live_sig(file, t, live->last);
        if (sig && sig->flags & TRC_SIG_FAILED && strncmp(trc_call(file, sig->call)->name, "gloo::", 6) == 0)
            at_ns = ana_earlier(at_ns, ana_time_within(ana_clock_job_time(c->members->clock, index, live->last_end)));
    }
    return at_ns;
}

static void walk_ends(struct ana_case *c, unsigned of, struct ana_deaths *d, struct walk *w)
{
    for (size_t i = 0; i < c->count; i++) {
        struct ana_death death = ana_death_of(c, i);
        if (death.how == ANA_END_NONE && of & ANA_OF_GONE && c->rank[i].gone)
            death.how = ANA_END_VANISHED; /* it is stopped, or silent */
        if (death.how == ANA_END_NONE || (!(of & ANA_OF_DEAD) && !c->rank[i].gone))
            continue;
        add_end(&w->all, i, death.at_ns);
        const struct trc_end *end = &ana_case_head(c, i)->end;
        w->pipes += death.how == ANA_END_CRASHED && end->signal == SIGPIPE;
        if (death.how == ANA_END_VANISHED && !end->by && end->ticks)
            add_end(&w->seen, i, ana_time_within(ana_clock_job_time(c->members->clock, i, end->ticks)));
        const int64_t lost = death.how == ANA_END_VANISHED || death.how == ANA_END_LEFT ? lost_ns(c, i) : INT64_MAX;
        d->lost |= lost != INT64_MAX;
        if (lost != INT64_MAX || death.how == ANA_END_TOLD)
            note_told(c, i, lost != INT64_MAX ? lost : death.at_ns, d);
        else
            add_end(death.how == ANA_END_VANISHED ? &w->vanished : &w->own, i, death.at_ns);
    }
    for (size_t i = 0; i < c->count && d->told; i++) {
        struct ana_death death = ana_death_of(c, i);
        w->before += death.how == ANA_END_VANISHED &&
                     (d->lost ? lost_ns(c, i) == INT64_MAX && death.at_ns <= d->told_ns
                              : would_have_noted(c, i) && d->told_ns - death.at_ns >= BEFORE_NS);
    }
}

/* Whether heartbeats alone tell that one ended first: all others ended together after it, or it left them waiting for
 * so long that it is a hang.  Else they may have been killed one after the other, by a batch system or by hand. */
static bool is_clear(const struct ana_deaths *d, const struct walk *w)
{
    int64_t ahead = w->vanished.next_ns - w->vanished.first_ns, together = d->last_ns - w->vanished.next_ns;
    if (d->gone == 1)
        return true;
    if (d->gone > 3 && together <= BEATS_NS)
        return ahead >= ANA_APART_NS;
    return ahead >= LEFT_NS && ahead >= STEADY * together;
}

/* Returns by how much, in ns, one was seen to end before the others, if the launcher may have ended those for it; 0. */
static int64_t seen_ahead(const struct ana_deaths *d, const struct walk *w)
{
    const int64_t ahead = w->seen.next_ns - w->seen.first_ns;
    return !d->told && d->gone > 1 && w->seen.n == d->gone && ahead >= SEEN_NS && ahead < ANA_APART_NS ? ahead : 0;
}

/* Whether SIGPIPE ended the main thread of a rank outside its calls: it wrote to a pipe of the program's own. */
static bool wrote_to_own_pipe(struct ana_case *c, size_t index)
{
    const unsigned both = TRC_STACK_MAIN | TRC_STACK_CRASHED;
    const struct ana_stack *stack = ana_stack_of(ana_case_stacks(c), index);
    return ended_by(c, index) == SIGPIPE && !c->members->process[index].rank.inside && stack &&
           (stack->flags & both) == both;
}

struct ana_deaths ana_deaths_find(struct ana_case *c, unsigned of)
{
    struct ana_deaths d = {.told_ns = INT64_MAX, .teller = SIZE_MAX, .first = SIZE_MAX};
    struct walk w = {.all = no_ends, .own = no_ends, .vanished = no_ends, .seen = no_ends};
    walk_ends(c, of, &d, &w);
    d.gone = w.all.n;
    d.first_ns = w.all.first_ns;
    d.last_ns = w.all.last_ns;
    d.ahead_ns = seen_ahead(&d, &w);
    d.in_turn = d.gone > 1 && ana_plus(d.last_ns, -d.first_ns) >= ANA_APART_NS;
    /* SIGPIPE in the MPI library: another rank, or the launcher, ended before. */
    bool piped = w.own.n && ended_by(c, w.own.first) == SIGPIPE && !wrote_to_own_pipe(c, w.own.first);
    bool vanished_before =
        w.own.n && w.vanished.n && ana_plus(w.own.first_ns, -w.vanished.first_ns) >= (piped ? 0 : ANA_APART_NS);
    bool lost = piped && (d.teller_left || w.pipes > 1); /* the launcher: the MPI library of several has found that */
    for (size_t i = 0; lost && i < c->count; i++)
        if (ended_by(c, i) == SIGPIPE)
            note_told(c, i, ana_death_of(c, i).at_ns, &d);
    if (w.own.n && w.own.first_ns <= d.told_ns && !vanished_before && !lost) {
        d.first = w.own.first;
        d.certain = ana_death_of(c, d.first).how != ANA_END_REFUSED;
    } else if (d.told && w.before && (w.before == 1 || w.vanished.next_ns - w.vanished.first_ns >= ANA_APART_NS)) {
        d.first = d.lost || would_have_noted(c, w.vanished.first) ? w.vanished.first : SIZE_MAX; /* others were told */
    } else if (d.ahead_ns >= FIRST_NS && d.ahead_ns >= STEADY * (w.seen.last_ns - w.seen.next_ns) &&
               !finalizes(c, w.seen.first)) {
        d.first = w.seen.first;
    } else if (!d.told && w.vanished.n && (c->live || is_clear(&d, &w))) {
        d.first = finalizes(c, w.vanished.first) ? SIZE_MAX : w.vanished.first;
    }
    return d;
}

int64_t ana_first_killed_ns(struct ana_case *c)
{
    struct ana_deaths d = ana_deaths_find(c, ANA_OF_DEAD);
    return d.gone && !d.certain ? d.first_ns : INT64_MAX;
}
