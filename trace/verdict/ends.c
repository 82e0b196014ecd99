/* Jobs that hang in MPI_Init or MPI_Finalize, and processes that live on after it. */
#include "trace/verdict/life.h"
#include "trace/verdict/verdict_impl.h"
#include <string.h>

/* Limits for MPI_Init: on a busy machine it may take many seconds, and on many hosts a minute. */
#define START_NS   INT64_C(30000000000) /* least duration of a start, or twice hang_ns, while no rank has come out */
#define FOLLOW_NS  INT64_C(10000000000) /* .. and the least, or hang_ns, once a rank has */
#define EARLY_NS   INT64_C(5000000000)  /* a slow start that has lasted so long is shown as a wait */
#define IDLE_SHARE 0.05                 /* share of a core: a process that has finalized and uses more is busy */

/* Time that the rank has been blocked in a call of this class, after the end of the job that it has been in it; -1: it
 * is not. */
static int64_t blocked_in(const struct ana_case *c, size_t index, enum trc_opclass opclass)
{
    for (const struct ana_waiting *p = ana_waits(c, index); p < ana_waits(c, index + 1); p++)
        if ((p->blocked || !c->live) && p->call->opclass == opclass)
            return p->lasted_ns;
    return -1;
}

struct door {
    size_t *index, inside, past; /* ranks inside; number of ranks that have come out */
    int64_t lasted_ns;           /* least time inside, over all ranks inside */
    const char *call;
};

static bool open_door(struct ana_case *c, enum trc_opclass opclass, struct door *door)
{
    *door = (struct door){.index = ana_case_room(c), .lasted_ns = INT64_MAX};
    for (size_t i = 0; door->index && i < c->count; i++) {
        int64_t lasted = blocked_in(c, i, opclass);
        bool known = ana_case_known(c, i) || ana_case_head(c, i)->init_ticks;
        bool entered = (opclass == TRC_OP_INIT && known) || ana_case_ended(c, i);
        if (lasted < 0) {
            door->past += entered;
            continue;
        }
        door->index[door->inside++] = i;
        door->lasted_ns = lasted < door->lasted_ns ? lasted : door->lasted_ns;
        door->call = c->members->process[i].rank.inside;
    }
    return door->inside > 0;
}

size_t ana_blame_absent(struct ana_case *c)
{
    struct ana_finding *f = c->out;
    size_t first, all = c->members->world_size;
    size_t here = ana_ranks_below(c->job, 0, all < INT32_MAX ? (int32_t)all : INT32_MAX, &first);
    size_t absents = all > here ? all - here : 0; /* a count: only the first few are walked */
    for (size_t r = 0, i = first; r < all && f->absents < absents && f->absents < ANA_ABSENTS; r++) {
        while (i < first + here && (size_t)c->members->process[i].rank.rank < r)
            i++;
        if (i == first + here || (size_t)c->members->process[i].rank.rank != r)
            f->absent[f->absents++] = (int32_t)r;
    }
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
        if (c->live && !c->members->process[i].alive && !ana_case_ended(c, i))
            return true;
    return false;
}

bool ana_case_starting(const struct ana_case *c)
{
    bool left = false;
    int64_t youngest = INT64_MAX;
    for (size_t i = 0; i < c->count; i++)
        left |= ana_case_head(c, i)->init_ticks != 0;
    for (const struct ana_waiting *p = c->waiting; p < ana_waits(c, c->count); p++)
        if (p->call->opclass == TRC_OP_INIT && p->lasted_ns < youngest)
            youngest = p->lasted_ns;
    return youngest < start_limit(c, left) && !somebody_gone(c);
}

/* Explains who does not leave this call. */
static void explain_inside(struct ana_case *c, const struct door *door, enum ana_sentence next)
{
    struct ana_ranks inside = ana_ranks_at(door->index, door->inside);
    if (door->past)
        ana_case_blame_all(c, inside);
    ANA_SUMMARY(c, door->past ? ANA_SENTENCE_SOME_INSIDE : ANA_SENTENCE_ALL_INSIDE, .who = inside,
                .call = {.name = door->call}, .number = (int64_t)(door->past ? door->past : door->inside));
    ANA_NEXT(c, next);
}

void ana_explain_absent(struct ana_case *c, size_t absent, const char *call, size_t inside)
{
    enum { MOST = 4 }; /* ranks listed one by one */
    ANA_SUMMARY(c, ANA_SENTENCE_NOT_STARTED, .absent = absent < MOST ? absent : MOST, .count = (int64_t)absent,
                .more = absent > MOST ? (int64_t)absent - MOST : 0, .call = {.name = call}, .number = (int64_t)inside,
                .other_number = (int64_t)c->members->world_size);
    ANA_FACT(c, ANA_SENTENCE_NO_FILE, .count = (int64_t)absent);
    ANA_NEXT(c, ANA_SENTENCE_NEXT_BEFORE_START);
}

/* Settles on a start that hangs or, after a while, on one that is slow. */
static bool settle_start(struct ana_case *c, enum ana_verdict_class id, int64_t lasted_ns)
{
    if (!ana_case_starting(c))
        return ana_case_settle(c, id, ANA_LIKELY, lasted_ns);
    ana_case_set(c, ANA_VERDICT_WAITING, id, ANA_POSSIBLE);
    c->out->since_ns = lasted_ns;
    return lasted_ns >= EARLY_NS;
}

/* MPI_Init waits for all; a rank that has not called it has no file. */
static bool stuck_in_init(struct ana_case *c, const struct door *door)
{
    size_t absent = door->past ? 0 : ana_blame_absent(c);
    if (!settle_start(c, absent ? ANA_CLASS_MISSING : ANA_CLASS_INSIDE, door->lasted_ns)) {
        c->out->state = ANA_VERDICT_HEALTHY;
        c->out->absents = 0;
        return false;
    }
    if (!door->past)
        ANA_FACT(c, ANA_SENTENCE_SLOW_START, .time = start_limit(c, false));
    if (absent)
        ana_explain_absent(c, absent, door->call, door->inside);
    else
        explain_inside(c, door, ANA_SENTENCE_NEXT_START);
    return true;
}

bool ana_explain_killed_at_start(struct ana_case *c)
{
    struct door door;
    const size_t absent = open_door(c, TRC_OP_INIT, &door) && !door.past ? ana_blame_absent(c) : 0;
    if (absent)
        ana_explain_absent(c, absent, door.call, door.inside);
    return absent;
}

static bool stuck_in_finalize(struct ana_case *c, const struct door *door)
{
    size_t left = 0, *unseen = ana_case_room(c), n = 0;
    for (size_t i = 0; i < c->count; i++)
        left += !ana_case_ended(c, i);
    for (size_t i = 0; unseen && i < door->inside; i++)
        if (ana_is_unseen(c, door->index[i], c->members->process[door->index[i]].last_end_ns))
            unseen[n++] = door->index[i];
    if (door->inside < left || c->count < c->members->world_size ||
        !ana_case_settle(c, ANA_CLASS_INSIDE, ANA_LIKELY, door->lasted_ns))
        return false;
    bool stuck = ana_blame_callbacks(c, NULL), computes = c->out->culprits && !stuck;
    struct ana_fact at = c->out->fact[0];
    explain_inside(c, door, computes ? ANA_SENTENCE_NEXT_OPERATION : ANA_SENTENCE_NEXT_FINALIZE);
    if (computes || (n && !stuck))
        ana_case_set(c, ANA_VERDICT_WAITING, ANA_CLASS_INSIDE, ANA_POSSIBLE);
    if (computes) {
        c->out->fact[0] = c->out->summary;
        c->out->summary = at;
    } else if (n && !stuck) {
        ANA_FACT(c, ANA_SENTENCE_UNSEEN_STACKS, .who = ana_ranks_at(unseen, n));
    }
    return true;
}

bool ana_find_init_finalize(struct ana_case *c)
{
    struct door door;
    return (open_door(c, TRC_OP_INIT, &door) && stuck_in_init(c, &door)) ||
           (open_door(c, TRC_OP_FINALIZE, &door) && stuck_in_finalize(c, &door));
}

/* All have finalized, and somebody's process is still there, doing nothing. */
bool ana_find_living_on(struct ana_case *c)
{
    size_t *index = ana_case_room(c), n = 0, done = 0;
    int64_t lasted = INT64_MAX;
    for (size_t i = 0; index && i < c->count; i++) {
        const struct ana_rank *r = &c->members->process[i].rank;
        int64_t since = c->members->process[i].ended_ns; /* time since MPI_Finalize, which ended the heartbeat */
        done += r->state == ANA_RANK_DONE;
        if (!r->lives_on || !(ana_samples_cpu(c, i) < IDLE_SHARE)) /* CPU use may be unknown, too */
            continue;
        index[n++] = i;
        lasted = since < lasted ? since : lasted;
    }
    /* Two samples, as for all that runs. */
    if (n == 0 || done < c->count || c->samples->taken < 2 ||
        !ana_case_settle(c, ANA_CLASS_LIVES_ON, ANA_LIKELY, lasted))
        return false;
    ana_case_blame_all(c, ana_ranks_at(index, n));
    ANA_SUMMARY(c, ANA_SENTENCE_LIVES_ON, .who = ANA_CULPRITS);
    ANA_FACT(c, ANA_SENTENCE_ALL_FINALIZED);
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

/* Returns the launcher by its variables, where it is of another MPI than the library; NULL. */
static const char *other_launcher(const struct ana_case *c)
{
    const bool open_mpi = strncmp(c->members->mpi, "Open MPI", 8) == 0;
    if (trc_fact(ana_case_file(c, 0), "env.OMPI_COMM_WORLD_SIZE"))
        return open_mpi ? NULL : "mpirun of Open MPI";
    return open_mpi && trc_fact(ana_case_file(c, 0), "env.PMI_SIZE") ? "of MPICH, or srun" : NULL;
}

/* Each process is alone in its MPI_COMM_WORLD: this MPI library does not know the launcher, and takes each process for
 * one that was started by hand. */
bool ana_find_alone(struct ana_case *c)
{
    const struct trc_head *first = c->count ? ana_case_head(c, 0) : NULL;
    for (size_t i = 0; i < c->count; i++) {
        const struct trc_head *head = ana_case_head(c, i);
        if (strcmp(head->command, first->command) != 0) /* several programs of one process each */
            return false;
        if (head->world_size != 1 || head->rank != 0 || head->flags & TRC_HEAD_SPAWNED || head->init_ticks == 0 ||
            has_met_others(ana_case_file(c, i)))
            return false;
    }
    if (c->count < 2)
        return false;
    ana_case_set(c, ANA_VERDICT_UNKNOWN, ANA_CLASS_NONE, ANA_LIKELY);
    ANA_SUMMARY(c, ANA_SENTENCE_ALONE, .count = (int64_t)c->count, .name = c->members->mpi,
                .other_name = other_launcher(c));
    ANA_FACT(c, ANA_SENTENCE_KNOWS_NOBODY);
    ANA_NEXT(c, ANA_SENTENCE_NEXT_LAUNCHER);
    return true;
}

/* The world of the processes on the other side of a communicator that MPI_Comm_spawn made; 0: it made none. */
static uint32_t world_of_children(const struct ana_case *c, size_t index, const struct trc_comm *comm)
{
    const struct trc_file *file = ana_case_file(c, index);
    const bool made = comm->def.flags & TRC_COMM_INTER && comm->def.flags & TRC_COMM_FOREIGN && comm->site &&
                      strncmp(trc_call(file, comm->def.created_by)->name, "MPI_Comm_spawn", 14) == 0;
    const size_t child = made ? ana_partner(c->job, index, comm, TRC_PEER_REMOTE) : SIZE_MAX;
    return child == SIZE_MAX ? 0 : c->members->process[child].rank.world;
}

void ana_explain_children(struct ana_case *c)
{
    const struct trc_comm *comm;
    uint64_t created;
    uint32_t told = 0; /* the worlds of children come behind the first, in order */
    for (size_t i = 0; i < c->count && c->members->bridges; i++)
        for (size_t k = 0; (comm = trc_comm_at(ana_case_file(c, i), k, &created)); k++) {
            const uint32_t world = world_of_children(c, i, comm);
            size_t first, n = world ? ana_ranks_below(c->job, world, INT32_MAX, &first) : 0;
            if (!n || world <= told)
                continue;
            told = world;
            ANA_FACT(c, ANA_SENTENCE_CHILDREN, .who = {.first = first, .n = n}, .site = {i, comm->site});
        }
}
