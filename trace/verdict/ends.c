/* Jobs that hang in MPI_Init or MPI_Finalize, and processes that live on after it. */
#include "trace/verdict/verdict_impl.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* On a busy machine MPI_Init may take many seconds, and on many hosts a minute. */
#define START_NS   INT64_C(30000000000) /* at least so long, or twice hang_ns, is a start while nobody has come out */
#define FOLLOW_NS  INT64_C(10000000000) /* ... and at least so long, or hang_ns, once somebody has */
#define IDLE_SHARE 0.05                 /* of a core: a process that has finalized and uses more has something to do */

/* How long the rank has been blocked in a call of this class; -1: it is not. */
static int64_t blocked_in(const struct ana_case *c, size_t index, enum trc_opclass opclass)
{
    for (size_t i = c->first_waiting[index]; i < c->first_waiting[index + 1]; i++)
        if (c->waiting[i].blocked && c->waiting[i].call->opclass == opclass)
            return c->waiting[i].lasted_ns;
    return -1;
}

struct door {
    size_t *index, inside, past; /* who is inside; how many have come out */
    int64_t lasted_ns;           /* of all that are inside */
    const char *call;
};

static bool open_door(const struct ana_case *c, enum trc_opclass opclass, struct door *door)
{
    *door = (struct door){.index = calloc(c->count + 1, sizeof *door->index), .lasted_ns = INT64_MAX};
    for (size_t i = 0; door->index && i < c->count; i++) {
        int64_t lasted = blocked_in(c, i, opclass);
        bool known = ana_case_known(c, i) || trc_head(c->job->process[i].rank.file)->init_ticks;
        bool entered = (opclass == TRC_OP_INIT && known) || ana_case_ended(c, i);
        if (lasted < 0) {
            door->past += entered;
            continue;
        }
        door->index[door->inside++] = i;
        door->lasted_ns = lasted < door->lasted_ns ? lasted : door->lasted_ns;
        door->call = c->job->process[i].rank.inside;
    }
    return door->inside > 0;
}

/* Ranks of the first world that have made no file. */
static size_t absent(const struct ana_case *c, int32_t rank[ANA_ABSENTS], char *out, size_t size)
{
    size_t first, all = c->job->world_size, at = 0, n = 0;
    size_t here = ana_ranks_below(c->job, 0, all < INT32_MAX ? (int32_t)all : INT32_MAX, &first);
    size_t absents = all > here ? all - here : 0; /* a number: only the first of them are walked */
    for (size_t r = 0, i = first; r < all && n < absents && n < ANA_ABSENTS; r++) {
        while (i < first + here && (size_t)c->job->process[i].rank.rank < r)
            i++;
        if (i < first + here && (size_t)c->job->process[i].rank.rank == r)
            continue;
        rank[n] = (int32_t)r;
        if (++n <= 4)
            ana_append(out, size, &at, "%s%zu", n > 1 ? ", " : "", r);
    }
    if (absents > 4)
        ana_append(out, size, &at, " and %zu more", absents - 4);
    return absents;
}

static int64_t start_limit(const struct ana_case *c, bool left)
{
    int64_t rule = left ? c->rules.hang_ns : 2 * c->rules.hang_ns, least = left ? FOLLOW_NS : START_NS;
    return rule > least ? rule : least;
}

/* Whether somebody died during start: then the others do not wait for a slow start. */
static bool somebody_gone(const struct ana_case *c)
{
    for (size_t i = 0; i < c->count; i++)
        if (c->live && !c->job->process[i].alive && !ana_case_ended(c, i))
            return true;
    return false;
}

bool ana_case_starting(const struct ana_case *c)
{
    bool left = false;
    int64_t youngest = INT64_MAX;
    for (size_t i = 0; i < c->count; i++)
        left |= trc_head(c->job->process[i].rank.file)->init_ticks != 0;
    for (size_t i = 0; i < c->waiting_count; i++)
        if (c->waiting[i].call->opclass == TRC_OP_INIT && c->waiting[i].lasted_ns < youngest)
            youngest = c->waiting[i].lasted_ns;
    return youngest < start_limit(c, left) && !somebody_gone(c);
}

/* MPI_Init waits for all; who has not called it has no file. */
static bool stuck_in_init(struct ana_case *c, const struct door *door)
{
    char who[128], list[128] = "";
    size_t missing = absent(c, c->out->absent, list, sizeof list), some = door->past || missing;
    if (ana_case_starting(c) ||
        !ana_case_settle(c, missing && !door->past ? ANA_CLASS_MISSING : ANA_CLASS_INSIDE, ANA_LIKELY, door->lasted_ns))
        return false;
    if (!door->past) {
        char limit[ANA_TEXT];
        ana_case_evidence(c, "nobody has come out of it: up to %s that is a slow start, not a hang",
                          ana_spoken(limit, sizeof limit, (double)start_limit(c, false)));
    }
    if (missing && !door->past) {
        c->out->absents = missing < ANA_ABSENTS ? missing : ANA_ABSENTS;
        ana_case_say(c, "rank%s %s %s not called %s, where %zu of %zu wait", missing > 1 ? "s" : "", list,
                     missing > 1 ? "have" : "has", door->call, door->inside, c->job->world_size);
        ana_case_evidence(c, "%s: no trace file, which a process makes when it calls MPI_Init; or it is not recorded",
                          missing > 1 ? "they have" : "it has");
        ana_case_next(
            c,
            "what that process does before MPI_Init, if it was started at all (ps on its host, the launcher's output)");
        return true;
    }
    ana_rank_list(c->job, door->index, door->inside, who, sizeof who);
    for (size_t i = 0; some && i < door->inside; i++)
        ana_case_blame(c, door->index[i]);
    if (door->past)
        ana_case_say(c, "%s %s not come out of %s, which %zu other%s left", who, door->inside > 1 ? "do" : "does",
                     door->call, door->past, door->past > 1 ? "s have" : " has");
    else
        ana_case_say(c, "all %zu ranks are inside %s and do not come out of it", door->inside, door->call);
    ana_case_next(c, "whether the launcher fits this MPI library (hpctop doctor), and the network between the hosts");
    return true;
}

static bool stuck_in_finalize(struct ana_case *c, const struct door *door)
{
    size_t left = 0;
    for (size_t i = 0; i < c->count; i++)
        left += !ana_case_ended(c, i);
    if (door->inside < left || c->count < c->job->world_size ||
        !ana_case_settle(c, ANA_CLASS_INSIDE, ANA_LIKELY, door->lasted_ns))
        return false;
    char who[128];
    ana_rank_list(c->job, door->index, door->inside, who, sizeof who);
    for (size_t i = 0; door->past && i < door->inside; i++)
        ana_case_blame(c, door->index[i]);
    if (door->past)
        ana_case_say(c, "%s %s not come out of MPI_Finalize, which %zu other%s left", who,
                     door->inside > 1 ? "do" : "does", door->past, door->past > 1 ? "s have" : " has");
    else
        ana_case_say(c, "all %zu ranks are inside MPI_Finalize and do not come out of it", door->inside);
    ana_case_next(
        c,
        "the stacks: what one of them does there that the others do not (a callback, an open window, a forked child)");
    return true;
}

bool ana_find_init_finalize(struct ana_case *c)
{
    struct door door;
    bool found = open_door(c, TRC_OP_INIT, &door) && stuck_in_init(c, &door);
    free(door.index);
    if (found)
        return true;
    found = open_door(c, TRC_OP_FINALIZE, &door) && stuck_in_finalize(c, &door);
    free(door.index);
    return found;
}

/* All have finalized, and somebody's process is still there, doing nothing. */
bool ana_find_living_on(struct ana_case *c)
{
    int64_t lasted = INT64_MAX;
    for (size_t i = 0; i < c->count; i++) {
        const struct ana_rank *r = &c->job->process[i].rank;
        int64_t now = c->job->process[i].heartbeat_ns;
        if (r->state != ANA_RANK_DONE)
            return false;
        if (!r->lives_on || !(ana_samples_cpu(c, i) < IDLE_SHARE)) /* what it uses may be unknown, too */
            continue;
        ana_case_blame(c, i);
        lasted = now - r->end_ns < lasted ? now - r->end_ns : lasted;
    }
    /* Two samples, as for all that runs. */
    if (c->out->culprits == 0 || c->samples->taken < 2 || !ana_case_settle(c, ANA_CLASS_LIVES_ON, ANA_LIKELY, lasted)) {
        c->out->culprits = 0;
        return false;
    }
    char who[128];
    ana_rank_list(c->job, c->out->culprit, c->out->culprits, who, sizeof who);
    ana_case_say(c, "%s %s called MPI_Finalize, and %s not end", who, c->out->culprits > 1 ? "have" : "has",
                 c->out->culprits > 1 ? "their processes do" : "its process does");
    ana_case_evidence(c, "MPI has nothing to do with it any more: all ranks came out of MPI_Finalize");
    return true;
}

/* Whether a process has met others by MPI_Comm_connect and the like, or by NCCL: then MPI_COMM_WORLD is not what holds
 * the job together. */
static bool has_met_others(const struct trc_file *file)
{
    const struct trc_comm *comm;
    uint64_t created;
    for (size_t i = 0; (comm = trc_comm_at(file, i, &created)); i++)
        if (comm->def.flags & TRC_COMM_FOREIGN || comm->def.size > 1)
            return true;
    return false;
}

/* Each process is alone in its MPI_COMM_WORLD: this MPI library does not know the launcher, and takes each process for
 * one that was started by hand. */
bool ana_find_alone(struct ana_case *c)
{
    const struct trc_head *first = c->count ? trc_head(c->job->process[0].rank.file) : NULL;
    for (size_t i = 0; i < c->count; i++) {
        const struct trc_head *head = trc_head(c->job->process[i].rank.file);
        if (strcmp(head->command, first->command) != 0) /* several programs of one process each */
            return false;
        if (head->world_size != 1 || head->rank != 0 || head->flags & TRC_HEAD_SPAWNED || head->init_ticks == 0 ||
            has_met_others(c->job->process[i].rank.file))
            return false;
    }
    if (c->count < 2)
        return false;
    c->out->state = ANA_VERDICT_UNKNOWN;
    c->out->confidence = ANA_LIKELY;
    ana_case_say(c, "%zu jobs of one rank each: the launcher does not fit this MPI library (%s)", c->count,
                 c->job->mpi[0] ? c->job->mpi : "unknown");
    ana_case_evidence(c, "each process is rank 0 of an MPI_COMM_WORLD of one, and knows nothing of the others");
    ana_case_next(c, "the launcher that belongs to this library (hpctop doctor -- COMMAND)");
    return true;
}
