/* Processes that stopped together: stopped by a signal, frozen, or silent where only a heartbeat can be seen.  deaths.c
 * judges a single one that others wait for. */
#include "trace/job/upper.h"
#include "trace/verdict/verdict_impl.h"
#include <string.h>

#define TOGETHER_NS 1000000000
#define TRACED_NS   1000000000
/* A heartbeat comes ten times a second, and is seen within one on network file systems. */
#define SILENT_NS 10000000000
#define QUIET_NS  4000000000 /* silence of a whole host, while others are heard */
#define HEARD_NS  3000000000 /* a host is heard for so long after a heartbeat: its digest may wait for another writer */
#define TIMES     2          /* multiple of the longest silence that ended */
#define LAG_NS    2000000000 /* possible age of a host's news: a second for its digest, and a second for the look */

/* A host, as heartbeats tell. */
struct host {
    size_t ranks;
    int64_t still_ns; /* time since the last heartbeat of any process of the host */
    bool seen;        /* one was seen to come, from elsewhere */
    bool judged;      /* no other source tells of any process of the host */
};

static void look_at_host(const struct ana_case *c, size_t index, struct host *host)
{
    const struct ana_process *p = &c->members->process[index];
    if (p->rank.state == ANA_RANK_DONE || p->rank.state == ANA_RANK_ABORTED ||
        !ana_process_beats(trc_head(p->rank.file)))
        return;
    if (!host->ranks++)
        *host = (struct host){1, INT64_MAX, false, true};
    host->judged &= p->heartbeat_seen && !p->by_pid && !c->rank[index].moved;
    host->seen |= p->heartbeat_seen && !p->by_pid;
    host->still_ns = p->still_ns < host->still_ns ? p->still_ns : host->still_ns;
}

/* Notes when the host that has been silent longest, but not for long, will have been. */
static void note_due(const struct ana_case *c, const struct host *host, size_t hosts, int64_t patience)
{
    int64_t longest_ns = 0;
    for (size_t h = 0; h < hosts; h++)
        if (host[h].seen && host[h].still_ns >= LAG_NS && host[h].still_ns < patience)
            longest_ns = host[h].still_ns > longest_ns ? host[h].still_ns : longest_ns;
    ana_job_judgement(c->job)->quiet_due_ns = longest_ns ? c->members->read_ns + patience - longest_ns : INT64_MAX;
}

/* The file server, the network or the reader itself may have been slow: so others must be heard meanwhile, and nobody's
 * silence may have ended after half as long.  Of a host with one rank the recorder may be held up. */
void ana_case_find_quiet(struct ana_case *c)
{
    size_t hosts = ana_clock_domains(c->members->clock), heard = 0, silent = 0;
    struct host *host = c->live ? ana_case_alloc(c, (hosts + 1) * sizeof *host) : NULL;
    int64_t patience = QUIET_NS;
    for (size_t i = 0; host && i < c->count; i++) {
        int64_t longest = c->members->process[i].longest_still_ns * TIMES;
        patience = longest > patience ? longest : patience;
        look_at_host(c, i, &host[ana_clock_domain_of(c->members->clock, i)]);
    }
    for (size_t h = 0; host && h < hosts; h++) {
        heard += host[h].seen && host[h].still_ns < HEARD_NS;
        silent += host[h].seen && host[h].still_ns >= HEARD_NS;
    }
    note_due(c, host, host ? hosts : 0, patience);
    for (size_t i = 0; host && heard >= silent && i < c->count; i++) {
        const struct host *mine = &host[ana_clock_domain_of(c->members->clock, i)];
        c->rank[i].quiet = mine->judged && mine->ranks > 1 && mine->still_ns >= patience;
    }
}

enum ana_stop ana_case_stop(const struct ana_case *c, size_t index)
{
    const struct ana_process *p = &c->members->process[index];
    if (p->rank.state == ANA_RANK_DONE || p->rank.state == ANA_RANK_ABORTED)
        return ANA_MOVES;
    /* A debugger or tracer stops it again and again for a short time: then its heart beats in between. */
    if (p->alive && p->stopped && (!p->traced || p->silent_ns >= TRACED_NS))
        return ANA_STOPPED;
    const struct trc_head *head = trc_head(p->rank.file);
    bool silent = p->silent_ns >= SILENT_NS || c->rank[index].quiet;
    if (c->rank[index].moved || !silent || head->heartbeats == 0 || head->state == TRC_STATE_STOPPED)
        return ANA_MOVES; /* or gone */
    if (p->by_pid)
        return p->alive ? ANA_FROZEN : ANA_MOVES;
    return ANA_SILENT;
}

void ana_explain_stopped(struct ana_case *c)
{
    for (size_t i = 0; i < c->out->culprits; i++) {
        size_t index = c->out->culprit[i];
        if (c->out->id == ANA_CLASS_DEAD || ana_case_stop(c, index) != ANA_FROZEN)
            continue;
        ANA_FACT(c, ANA_SENTENCE_HELD_UP, .who = ana_one_rank(index), .time = c->members->process[index].silent_ns);
    }
}

/* Stopped processes that have not ended. */
struct crowd {
    size_t *index, n, left;
    size_t kinds[ANA_SILENT + 1];
    bool dead; /* somebody is gone for certain */
    bool one_host, whole_host;
    int64_t since_ns; /* duration for which the whole crowd has been silent */
};

/* Whether they are on one host, and all that there is on it. */
static void place(const struct ana_case *c, struct crowd *crowd)
{
    crowd->one_host = crowd->whole_host = true;
    for (size_t i = 0, k = 0; i < c->count && crowd->n; i++) {
        bool in = k < crowd->n && crowd->index[k] == i;
        bool here = strcmp(c->members->process[i].host, c->members->process[crowd->index[0]].host) == 0;
        k += in;
        crowd->one_host &= !in || here;
        crowd->whole_host &= in || !here || ana_case_ended(c, i);
    }
}

static void look(const struct ana_case *c, struct crowd *crowd)
{
    crowd->since_ns = INT64_MAX;
    for (size_t i = 0; i < c->count; i++) {
        const struct ana_process *p = &c->members->process[i];
        if (p->rank.state == ANA_RANK_DONE || p->rank.state == ANA_RANK_ABORTED)
            continue;
        enum ana_stop stop = ana_case_stop(c, i);
        crowd->left++;
        crowd->dead |= p->by_pid && !p->alive;
        if (stop == ANA_MOVES)
            continue;
        crowd->kinds[stop]++;
        crowd->index[crowd->n++] = i;
        int64_t silent_ns = p->still_ns > p->silent_ns ? p->still_ns : p->silent_ns; /* its wall clock may be ahead */
        if (silent_ns < crowd->since_ns)
            crowd->since_ns = silent_ns;
    }
    place(c, crowd);
}

/* A fact about the whole crowd. */
static struct ana_fact fact_of(const struct ana_case *c, const struct crowd *crowd, enum ana_sentence explain)
{
    struct ana_fact fact = {.id = explain, .who = ANA_CULPRITS};
    if (crowd->n == crowd->left && crowd->n > 1) {
        fact.count = (int64_t)crowd->n;
        fact.number = crowd->left < c->count;
    } else if (crowd->n > 1 && crowd->one_host && crowd->whole_host) {
        fact.count = (int64_t)crowd->n;
        fact.name = c->members->process[crowd->index[0]].host;
    }
    return fact;
}

static void settle(struct ana_case *c, const struct crowd *crowd, enum ana_confidence confidence)
{
    /* Only silence is known: a busy node, file server or network may be as slow for a while. */
    bool doubt = crowd->kinds[ANA_SILENT] && crowd->since_ns < c->rules.hang_ns;
    bool suspended = c->live && crowd->n == crowd->left && !crowd->kinds[ANA_SILENT];
    ana_case_set(c,
                 doubt       ? ANA_VERDICT_UNKNOWN
                 : suspended ? ANA_VERDICT_STOPPED
                             : ANA_VERDICT_HUNG,
                 suspended ? ANA_CLASS_NONE : ANA_CLASS_DEAD, confidence);
    c->out->since_ns = crowd->since_ns;
    ana_case_blame_all(c, ana_ranks_at(crowd->index, crowd->n));
}

static void explain(struct ana_case *c, const struct crowd *crowd)
{
    const struct ana_process *first = &c->members->process[crowd->index[0]];
    struct ana_fact how = {.who = ANA_CULPRITS, .time = crowd->since_ns};
    ANA_NEXT(c, ANA_SENTENCE_NEXT_CONTINUE, .who = ANA_CULPRITS, .number = first->rank.pid, .name = first->rank.host);
    if (crowd->kinds[ANA_STOPPED] == crowd->n) {
        bool traced = true;
        for (size_t i = 0; i < crowd->n; i++)
            traced &= c->members->process[crowd->index[i]].traced;
        settle(c, crowd, ANA_LIKELY); /* a process that exists may go on */
        c->out->summary = fact_of(c, crowd, traced ? ANA_SENTENCE_CROWD_DEBUGGED : ANA_SENTENCE_CROWD_STOPPED);
        return;
    }
    if (crowd->kinds[ANA_SILENT]) {
        settle(c, crowd, crowd->n < crowd->left ? ANA_LIKELY : ANA_POSSIBLE);
        c->out->summary = fact_of(c, crowd, ANA_SENTENCE_CROWD_SILENT);
        c->out->summary.time = c->out->state == ANA_VERDICT_UNKNOWN ? crowd->since_ns : 0;
        how.id = ANA_SENTENCE_CROWD_UNSEEN;
        c->out->next.id = ANA_SENTENCE_NEXT_EXISTS;
    } else {
        settle(c, crowd, ANA_LIKELY);
        c->out->summary = fact_of(c, crowd, ANA_SENTENCE_CROWD_FROZEN);
        how.id = ANA_SENTENCE_CROWD_EXISTS;
        c->out->next.id = ANA_SENTENCE_NEXT_FROZEN;
    }
    ana_case_fact(c, how);
}

bool ana_find_stopped(struct ana_case *c)
{
    struct crowd crowd = {.index = ana_case_room(c)};
    if (!c->live || !crowd.index)
        return false;
    look(c, &crowd);
    if (crowd.n == 0 || crowd.dead || crowd.since_ns < c->rules.proof_ns ||
        (crowd.n < crowd.left && (crowd.n == 1 || !ana_anybody_waits(c))))
        return false;
    explain(c, &crowd);
    return true;
}

/* A host failed, or its ranks were stopped: afterwards the files tell no difference. */
bool ana_find_host(struct ana_case *c)
{
    struct crowd crowd = {.index = ana_case_room(c)};
    int64_t first = INT64_MAX, last = INT64_MIN;
    for (size_t i = 0; !c->live && crowd.index && i < c->count; i++) {
        int64_t end = c->members->process[i].rank.end_ns;
        crowd.left += !ana_case_ended(c, i);
        if (!c->rank[i].gone)
            continue;
        crowd.index[crowd.n++] = i;
        first = end < first ? end : first;
        last = end > last ? end : last;
    }
    place(c, &crowd);
    if (crowd.n < 2 || crowd.n == crowd.left || !crowd.one_host || !crowd.whole_host || last - first >= TOGETHER_NS ||
        !ana_anybody_waits(c) || ana_hung_before(c, first))
        return false;
    crowd.since_ns = c->members->end_ns - last;
    c->out->summary = fact_of(c, &crowd, ANA_SENTENCE_CROWD_GONE);
    ANA_FACT(c, ANA_SENTENCE_HOST_FIRST, .time = crowd.since_ns);
    settle(c, &crowd, ANA_PROVEN);
    return true;
}

/* Processes of other hosts fell silent together: it is not known whether they still exist.  After a minute they count
 * as gone (process.c). */
bool ana_find_silent(struct ana_case *c)
{
    struct crowd crowd = {.index = ana_case_room(c)};
    bool unknown = false;
    for (size_t i = 0; i < c->count; i++)
        unknown |= c->members->process[i].rank.state == ANA_RANK_UNKNOWN;
    if (c->live || !unknown || !crowd.index)
        return false;
    look(c, &crowd);
    if (crowd.n == 0 || crowd.n < crowd.left)
        return false;
    explain(c, &crowd);
    return true;
}
