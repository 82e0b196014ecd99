/* One judging, as detectors see it: the waits of all threads, their needs, the graph of who waits for whom, and the
 * finding. For trace/verdict only. */
#pragma once

#include "trace/util/hash_map.h"
#include "trace/verdict/fact.h"
#include "trace/verdict/graph.h"

struct ana_stacks;
struct trc_file;
struct trc_head;

#define ANA_NO_GROUP UINT32_MAX

/* Dependency of a blocked thread: one message, a collective that it started, the lock of an RMA window that a peer
 * holds, or the peer's part of an epoch. */
enum ana_dependency_kind {
    ANA_DEPENDENCY_MESSAGE,
    ANA_DEPENDENCY_RECEIVER,
    ANA_DEPENDENCY_COLLECTIVE,
    ANA_DEPENDENCY_LOCK,
    ANA_DEPENDENCY_EPOCH
};
struct ana_dependency {
    enum ana_dependency_kind kind;
    size_t index; /* index of the rank that waits */
    int32_t peer; /* world rank or enum trc_peer_value */
    int32_t tag;
    uint64_t identity, sequence, bytes;
    const struct trc_comm *comm;
    int64_t begin_ns; /* posted */
    uint64_t came;    /* bytes of the message that fits it, if met; 0 unknown */
    int8_t met;       /* the needed event is under way: -1 not known yet */
    int32_t near_tag; /* a message that its source sent, that nobody took, and that does not fit */
    uint64_t near_identity, near_messages;
    const struct ana_open_request *request; /* request of a collective */
    int32_t target;                         /* lock: rank whose window it is; TRC_PEER_NONE: all */
    bool shared;                            /* lock: the holder's is shared */
    uint64_t site;                          /* lock: site of the call by which the holder took it */
    bool completes;                         /* epoch: MPI_Win_complete is lacking, else MPI_Win_post */
    bool started;                           /* a send whose request is open: its message may be taken already */
    bool half;                              /* the send of an MPI_Sendrecv: the same, and it is not counted yet */
    bool taken;  /* a message that fits was taken by an earlier receive that nobody completed */
    bool probed; /* a send whose message the receiver has found by MPI_Mprobe */
    bool unsure; /* too many pairs of ranks to look at: `met` is 0 though messages are under way that nobody compared */
    size_t node; /* graph node; a collective uses its group's */
};

enum ana_waiting_kind {
    ANA_WAITING_COLLECTIVE,
    ANA_WAITING_MESSAGES, /* depends on messages, requests, locks */
    ANA_WAITING_POLL,     /* outside, or in and out of MPI_Test or MPI_Iprobe */
    ANA_WAITING_FINALIZE,
    ANA_WAITING_DEVICE, /* outside MPI, or in a call of NCCL, with operations under way on its device */
    ANA_WAITING_OTHER   /* peer not known: MPI_Init, I/O */
};

/* Place of a thread: one for each that is inside a call or polls. */
struct ana_waiting {
    size_t index;
    uint32_t thread;
    enum ana_waiting_kind kind;
    const struct trc_sig *sig;    /* signature of the call */
    const struct trc_sig *nested; /* signature of a callback's call inside it; NULL: none */
    const struct trc_call *call;
    const struct trc_comm *comm;
    uint64_t identity; /* identity of comm, in all worlds */
    uint64_t sequence;
    int64_t since_ns, lasted_ns;
    bool blocked;                            /* it has lasted long enough to count */
    bool aside;                              /* another thread keeps the rank from moving (threads.c) */
    bool keeps_lock;                         /* Python's, which other threads of the rank need */
    const struct ana_stack *locked_out;      /* a thread that waits for a mutex of this one; NULL: none */
    bool spins;                              /* it makes calls that complete nothing */
    uint64_t vain;                           /* number of vain calls if so */
    bool any;                                /* one of its dependencies is enough */
    bool tested;                             /* dependencies are known */
    uint32_t first_dependency, dependencies; /* index into case.dependency */
    uint32_t group;                          /* collective: index into case.group */
    size_t node;                             /* graph node that it waits for; SIZE_MAX: not known */
};

/* One collective that somebody is inside, or has started and waits for. */
struct ana_group {
    uint64_t identity, sequence;
    const struct trc_comm *comm;
    struct ana_call call; /* call of the first rank that came */
    size_t inside;        /* threads that wait for it */
    bool blocked;         /* somebody is blocked, and only it can free them */
    int64_t lasted_ns;    /* duration of the youngest wait; INT64_MAX: none is blocked */
    bool sure;            /* somebody is inside it, or in a wait that can only end with it */
    int64_t waited_ns;    /* duration of the youngest blocked wait, even if others may end it; INT64_MAX: none */
    bool looked;          /* `missing` is known */
    size_t *missing;      /* rank indices of members that have not come */
    size_t *place;        /* place of each missing rank in the communicator */
    size_t missing_count;
    size_t nowhere;            /* members without a file */
    size_t node_all, node_any; /* nodes for ranks that need all, or any one, of the missing; 0: not made */
    size_t node_root;          /* node for ranks that need the root */
};

/* Flags of a rank. */
struct ana_standing {
    bool gone;              /* died, or stopped, before the end: it does nothing more */
    bool moved;             /* it did something between the samples */
    bool quiet;             /* nothing of its whole host is heard any more (ana_case_find_quiet) */
    bool sure;              /* all its threads are accounted for */
    bool lives;             /* threads are in calls, but those outside matter: they compute, or the others listen */
    uint8_t waits, blocked; /* a bit for each kind of wait: all; long enough to count */
};

/* One judging. */
struct ana_case {
    const struct ana_job *job;
    const struct ana_members *members; /* of it */
    struct ana_verdict_rules rules;
    const struct ana_samples *samples;
    const struct ana_straggler *straggler; /* NULL: the events were not summarized yet */
    int64_t until_ns;                      /* job time of the judgement; INT64_MAX: now */
    bool live;                             /* somebody is alive */
    size_t count;
    struct ana_waiting *waiting; /* entries of one rank side by side */
    size_t waiting_count, waiting_room;
    size_t *first_waiting; /* first entry by rank index, count + 1 entries */
    struct ana_dependency *dependency;
    size_t dependencies, dependency_room;
    struct ana_map groups; /* (identity, sequence) -> struct ana_group */
    struct ana_last_events **last_events;
    struct ana_steps *steps;   /* steps of the threads that were asked for */
    size_t steps_read;         /* number of `steps` */
    uint64_t epoch_bytes;      /* bytes of events that were read for epochs */
    struct ana_standing *rank; /* state of each rank, indexed by rank */
    struct ana_graph graph;    /* wait-for graph: nodes 0 .. count - 1 are the ranks */
    size_t finalize;           /* node of MPI_Finalize */
    struct ana_map sources;    /* communicators with a wait for any message -> their node, size_t */
    struct ana_stacks *stacks; /* ana_case_stacks */
    bool stacks_taken;
    const struct ana_hvd_set *loops; /* Horovod's set, if the verdict is on its waits; else NULL */
    int64_t loops_since_ns;          /* job time since when */
    size_t centers;                  /* ranks whose messages from any source were looked at (owed.c) */
    size_t scans, send_scans;        /* pairs of ranks whose streams were compared, for receives and for sends */
    uint64_t scanned;                /* records of the former */
    bool memory;                     /* ran out */
    struct ana_gpu *gpu;             /* operations on devices (gpu.h) */
    struct ana_finding *out;
    struct ana_stored *kept; /* memory that facts point to */
};

/* The waits of a rank: from ana_waits(c, index) up to ana_waits(c, index + 1), of all from c->waiting on. */
static inline struct ana_waiting *ana_waits(const struct ana_case *c, size_t index)
{
    return c->waiting + c->first_waiting[index];
}
/* The dependencies of a wait lie from ana_need(c, waiting, 0) up to ana_need(c, waiting, waiting->dependencies). */
static inline struct ana_dependency *ana_need(const struct ana_case *c, const struct ana_waiting *waiting, uint32_t k)
{
    return c->dependency + waiting->first_dependency + k;
}

/* case.c: the trace file of a rank. */
struct trc_file *ana_case_file(const struct ana_case *c, size_t index);
/* The head of that file. */
const struct trc_head *ana_case_head(const struct ana_case *c, size_t index);
/* Returns the job time at which the judgement of a rank ends, in ns. */
int64_t ana_case_end(const struct ana_case *c, size_t index);
/* The call that a process completed last, and the thread that made it, if that is asked for; NULL: none is known. */
const struct trc_sig *ana_last_call(const struct trc_file *file, uint32_t *thread);
/* Whether MPI_Finalize returned on a rank. */
bool ana_case_ended(const struct ana_case *c, size_t index);
/* Whether the live pages of a rank's file are there.  A rank whose file cannot be read is not blamed. */
bool ana_case_known(const struct ana_case *c, size_t index);
/* The stacks of all ranks, taken when they are first asked for; empty when out of memory. */
const struct ana_stacks *ana_case_stacks(struct ana_case *c);
/* Whether all events of a rank are in its file. */
bool ana_case_events_known(const struct ana_case *c, size_t index);

/* finding.c: adds a fact to the evidence; beyond ANA_FACTS_MOST it is dropped. */
void ana_case_fact(struct ana_case *c, struct ana_fact fact);
#define ANA_FACT(c, ...) ana_case_fact(c, (struct ana_fact){.id = __VA_ARGS__})
/* Makes the summary of the finding, and the advice on where to look. */
#define ANA_SUMMARY(c, ...) ((c)->out->summary = (struct ana_fact){.id = __VA_ARGS__})
#define ANA_NEXT(c, ...)    ((c)->out->next = (struct ana_fact){.id = __VA_ARGS__})
/* Memory that lives as long as the case, all 0; NULL when out of memory, which the case then knows. */
void *ana_case_alloc(struct ana_case *c, size_t size);
/* Kept memory, like ana_case_alloc, for the indices of all ranks and one more. */
size_t *ana_case_room(struct ana_case *c);
/* A copy of a set of ranks that lives as long as the case; empty when out of memory. */
struct ana_ranks ana_case_ranks(struct ana_case *c, const size_t *index, size_t n);
/* A copy of a text that lives as long as the case; NULL when out of memory. */
const char *ana_case_text(struct ana_case *c, const char *text);
/* Frees all that. */
void ana_case_free_memory(struct ana_case *c);
/* Lowers proven to likely where culprits wait for others than each other: it is proven that they hang, not why. */
void ana_case_doubt_culprits(struct ana_case *c);
/* Adds a rank to the culprits, once; SIZE_MAX is none. */
void ana_case_blame(struct ana_case *c, size_t index);
void ana_case_blame_all(struct ana_case *c, struct ana_ranks ranks); /* each once */
/* Sets state and time of a verdict that rests on `lasted_ns` of standstill.  False: too short for one. */
bool ana_case_settle(struct ana_case *c, enum ana_verdict_class id, enum ana_confidence confidence, int64_t lasted_ns);
/* Like ana_case_settle, for ranks whose hang may be proven and whose fault is likely at most. */
bool ana_case_settle_likely(struct ana_case *c, enum ana_verdict_class id, const size_t *index, size_t n,
                            int64_t lasted_ns);
/* The shortest time, in ns, that a blocked rank among these has been blocked. */
int64_t ana_case_lasted(const struct ana_case *c, const size_t *index, size_t n);

/* Whether some thread of a rank is blocked. */
static inline bool ana_rank_blocked(const struct ana_case *c, size_t index)
{
    return c->rank[index].blocked;
}
/* Whether some thread of a rank is in a wait of this kind. */
static inline bool ana_rank_is_in(const struct ana_case *c, size_t index, enum ana_waiting_kind kind)
{
    return c->rank[index].waits >> kind & 1;
}
/* threads.c: finds which threads of a rank wait aside. */
void ana_rank_threads(struct ana_case *c, size_t index);
/* The blocked operation of a rank that has lasted longest, rather one that does not wait aside; NULL: none. */
struct ana_waiting *ana_rank_waiting(struct ana_case *c, size_t index);
/* Whether a thread of a rank is outside MPI, and its others all wait for messages from any source. */
bool ana_only_listens(struct ana_case *c, size_t index);
/* The call that a blocked rank is in, as a term of a fact. */
struct ana_call ana_rank_call(struct ana_case *c, size_t index);

/* model.c: finds who can move on and who cannot, and the knots.  False: out of memory. */
bool ana_case_graph(struct ana_case *c);
/* Whether a rank can move on, as far as is known. */
static inline bool ana_rank_moves(const struct ana_case *c, size_t index)
{
    return ana_graph_moves(&c->graph, index);
}
/* The number of a rank's knot: with others of that number it waits for nobody else who cannot move; 0: none. */
static inline uint32_t ana_rank_knot(const struct ana_case *c, size_t index)
{
    return c->graph.knot[index];
}
/* Group i, 0 <= i < c->groups.count. */
static inline struct ana_group *ana_group_at(const struct ana_case *c, size_t i)
{
    return ana_map_value(&c->groups, i);
}
/* The rank indices that an operation waits for and that cannot move on, up to `max`; returns how many. */
size_t ana_waiting_for(struct ana_case *c, struct ana_waiting *waiting, size_t *out, size_t max);
/* Whether that operation waits for this rank. */
bool ana_waits_for(struct ana_case *c, struct ana_waiting *waiting, size_t index);
/* Whether it waits for a message from any source. */
bool ana_waits_for_anybody(const struct ana_case *c, const struct ana_waiting *waiting);
/* Whether a rank can never move on, and nobody who can move frees it. */
bool ana_case_deadlocked(const struct ana_case *c, size_t index);
/* Certainty of a verdict on these ranks: proven where all their threads and events are known. */
enum ana_confidence ana_case_certainty(const struct ana_case *c, const size_t *index, size_t n);
/* The call of a waiting operation, as a term of a fact. */
static inline struct ana_call ana_waiting_call(const struct ana_waiting *waiting)
{
    return (struct ana_call){waiting->call->name, waiting->call->opclass, waiting->index, waiting->sig};
}

/* The rank index that a dependency is on; SIZE_MAX: any rank, or not known. */
size_t ana_dependency_partner(const struct ana_case *c, const struct ana_dependency *dependency);

/* dependencies.c */
/* Whether a thread inside this call waits for the partners of messages, requests or a window. */
bool ana_waits_for_partners(const struct trc_call *call);
/* Finds out what a waiting operation depends on, once. */
void ana_waiting_dependencies(struct ana_case *c, struct ana_waiting *waiting);

/* left_out.c: ranks that wait in a collective, or for one that was started */
struct ana_ranks ana_ranks_in(struct ana_case *c, const struct ana_group *group);

/* message.c: explains that a message that nobody takes was sent in place of the one that is waited for. */
void ana_explain_near(struct ana_case *c, const struct ana_dependency *dependency, size_t partner);
/* Detectors, one for each kind of trouble. Each, on finding it, fills c->out and returns true. */
#define DETECTOR(name, kind, looks_for) bool ana_find_##name(struct ana_case *c);
#define NEED(name, kind, looks_for)                                                                                    \
    bool ana_find_##name(struct ana_case *c, struct ana_waiting *waiting, struct ana_dependency *need);
#include "trace/verdict/detectors.def"
#undef DETECTOR
#undef NEED
