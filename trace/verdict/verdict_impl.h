/* Declarations shared by the files of the verdict; no other file includes this. */
#ifndef ANA_VERDICT_IMPL_H
#define ANA_VERDICT_IMPL_H

#include "trace/horovod/horovod.h"
#include "trace/job/comms.h"
#include "trace/members/members.h"
#include "trace/util/numfmt.h"
#include "trace/verdict/differs.h"
#include "trace/verdict/fact.h"
#include "trace/verdict/graph.h"
#include "trace/verdict/render.h"
#include "trace/why/reason.h"

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

/* The end of a rank's event streams. */
struct ana_last_collective {
    uint64_t identity, sequence;
    const struct trc_call *call;
    struct trc_sig sig;
    bool doubt; /* other ranks may count otherwise */
};
struct ana_open_request {
    struct trc_sig sig;
    const struct trc_call *call;
    uint32_t thread;
    uint64_t number, sequence;
    int64_t begin_ns;
    bool cancelling; /* MPI_Cancel was called for it, or for one like it: a wait for it ends whatever others do */
};
struct ana_held_lock {
    uint64_t identity; /* identity of the window */
    int32_t target;    /* world rank; TRC_PEER_NONE: all, by MPI_Win_lock_all */
    bool shared;       /* MPI_LOCK_SHARED */
};
enum { ANA_HELD_LOCKS = 16 };
struct ana_last_events {
    struct ana_held_lock lock[ANA_HELD_LOCKS]; /* MPI_Win_lock(_all) calls without MPI_Win_unlock; the newest */
    size_t locks;
    struct ana_map newest; /* identity -> sequence of the last collective begun, uint64_t */
    struct ana_last_collective *collective;
    size_t collectives, collective_room;
    struct ana_open_request *open; /* started and not completed, in order of start */
    size_t opens, open_room;
    int64_t progress_ns[TRC_MAX_THREADS]; /* end of each thread's last event that is no poll; INT64_MIN none */
    int64_t effect_ns;                    /* end of the last call that completed anything; INT64_MIN none */
    uint64_t vain;                        /* calls since */
    struct ana_last_collective failed;    /* the last call that waits and returned an error; `call` NULL: none */
    uint64_t since_failed;                /* calls since */
    int64_t gap_ns;                       /* the longest time between two calls of a thread, and how many there were */
    uint64_t gaps;
};

struct ana_rank_sample {
    uint64_t calls, progress, cpu, io, queued;
};

/* Samples of a running job, kept by it. */
struct ana_samples {
    unsigned taken, generation;
    int64_t at_ns[2]; /* older and newest, by the reader's clock */
    struct ana_rank_sample *seen[2];
    size_t count;
};

/* headline_loss.c, headline_segment.c: the ranks that make others wait most. */
#define ANA_LATE_RANKS 64u /* ranks named one by one */
struct ana_late {
    size_t rank[ANA_LATE_RANKS], ranks; /* first ranks by index; number of all */
    size_t worst;                       /* rank that takes longest */
    bool one_host, uneven;              /* all are on one; some take much less longer than the worst */
    double share;                       /* share of all ranks' time, as far as it was analysed */
    double times;             /* times that one rank waited for it, were all waits alike: a single long wait gives 1 */
    double lost_ns;           /* time lost to it by all others together */
    double waits;             /* waits of all others together */
    double next_ns;           /* lost to the next worst rank */
    struct ana_reason reason; /* reason why the worst rank takes longer */
    const struct ana_price *price; /* of the segment that most of lost_ns is charged to; NULL: none; of the summary */
};

/* A rank that the others wait for again and again, if the newest summary of the whole run tells one. */
struct ana_straggler {
    bool known; /* a summary was available */
    bool found;
    bool lately;          /* found in the last minute, not over the whole run */
    int64_t next_look_ns; /* reader's clock: earliest time of the next reading of the last minute */
    unsigned generation;  /* generation of the job's rank indices */
    struct ana_late late;
    char summary[512]; /* the sentence about it */
    char saving[540];  /* saving if they were as fast as the others; "": little, or not known */
};

/* A verdict, and how many keep it. */
struct ana_held_verdict {
    struct ana_verdict verdict; /* first: who holds it has its address */
    unsigned holders;
};

/* Epochs of ranks (epochs.h), by rank index; NULL: nobody has asked. */
struct ana_epoch_book {
    struct ana_epochs **of;
    size_t count;
    unsigned generation; /* generation of the job's rank indices */
};

/* Data read of a rank's last events for an earlier verdict, and its basis. */
struct ana_known_events {
    struct ana_last_events *events; /* NULL: nothing */
    uint64_t revision;              /* revision of the file */
    struct ana_clock_line line;     /* clock line by which its times were made */
};

/* Knowledge about a job kept from one verdict to the next. */
struct ana_judgement {
    struct ana_known_events *known; /* known events by rank index, for a job that is watched */
    size_t known_ranks;
    unsigned known_generation;
    struct ana_epoch_book epochs;
    struct ana_verdict_rules rules;
    struct ana_samples samples;
    struct ana_straggler straggler;
    struct ana_held_verdict *held; /* NULL: none was made yet */
    unsigned revision;             /* revision of the job, when it was made */
    int64_t quiet_due_ns; /* time when a host will have been silent for long, by CLOCK_MONOTONIC; INT64_MAX: none */
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
    struct ana_steps *steps; /* steps of the threads that were asked for */
    size_t steps_read;       /* number of `steps` */
    struct ana_epoch_book *epochs;
    uint64_t epoch_bytes;     /* bytes of events that were read for it */
    uint8_t *gone;            /* flags by rank index: died, or stopped, before the end: it does nothing more */
    uint8_t *moved;           /* it did something between the samples */
    uint8_t *quiet;           /* nothing of its whole host is heard any more (ana_case_find_quiet) */
    struct ana_graph graph;   /* wait-for graph: nodes 0 .. count - 1 are the ranks */
    size_t finalize;          /* node of MPI_Finalize */
    struct ana_map sources;   /* communicators with a wait for any message -> their node, size_t */
    uint8_t *sure;            /* all its threads are accounted for */
    uint8_t *lives;           /* a thread is in a call, and others of it compute outside */
    struct ana_stacks stacks; /* ana_case_stacks */
    bool stacks_taken;
    const struct ana_hvd_set *loops; /* Horovod's set, if the verdict is on its waits; else NULL */
    int64_t loops_since_ns;          /* job time since when */
    size_t scans, send_scans;        /* pairs of ranks whose streams were compared, for receives and for sends */
    uint64_t scanned;                /* records of the former */
    bool memory;                     /* ran out */
    struct ana_gpu *gpu;             /* operations on devices (gpu.h) */
    struct ana_finding *out;
    struct ana_kept *kept; /* memory that facts point to */
};
struct ana_kept {
    struct ana_kept *before;
};

/* case.c */
/* Whether MPI_Finalize returned on a rank. */
bool ana_case_ended(const struct ana_case *c, size_t index);
/* The job time up to which a rank is judged. */
static inline int64_t ana_case_end(const struct ana_case *c, size_t index)
{
    int64_t end = c->members->process[index].rank.end_ns;
    return end < c->until_ns ? end : c->until_ns;
}
/* Whether the live pages of a rank's file are there.  A rank whose file cannot be read is not blamed. */
bool ana_case_known(const struct ana_case *c, size_t index);
/* The stacks of all ranks, taken when they are first asked for; empty when out of memory. */
const struct ana_stacks *ana_case_stacks(struct ana_case *c);
/* The call that a process completed last, and the thread that made it, if that is asked for; NULL: none is known. */
const struct trc_sig *ana_last_call(const struct trc_file *file, uint32_t *thread);
/* Whether all events of a rank are in its file. */
bool ana_case_events_known(const struct ana_case *c, size_t index);

/* finding.c */
/* Adds a fact to the evidence; beyond ANA_FACTS_MOST it is dropped. */
void ana_case_fact(struct ana_case *c, struct ana_fact fact);
/* Memory that lives as long as the case, all 0; NULL when out of memory, which the case then knows. */
void *ana_case_keep(struct ana_case *c, size_t size);
/* Kept memory, like ana_case_keep, for the indices of all ranks and one more. */
size_t *ana_case_room(struct ana_case *c);
/* A copy of a set of ranks that lives as long as the case; empty when out of memory. */
struct ana_ranks ana_case_ranks(struct ana_case *c, const size_t *index, size_t n);
/* A copy of a text that lives as long as the case; NULL when out of memory. */
const char *ana_case_text(struct ana_case *c, const char *text);
/* Frees all that. */
void ana_case_free_kept(struct ana_case *c);
/* Blames the ranks that differ from most of `n`, all where one half stands against the other, and makes the summary
 * of `fact`, which has the odd value and the usual one, the communicator and the number on it. */
void ana_case_say_difference(struct ana_case *c, const struct ana_agreed *all, size_t n,
                             const struct ana_difference *difference, struct ana_fact fact);
/* Lowers proven to likely where culprits wait for others than each other: it is proven that they hang, not why. */
void ana_case_doubt_culprits(struct ana_case *c);
/* Adds a rank to the culprits, once; SIZE_MAX is none. */
void ana_case_blame(struct ana_case *c, size_t index);
void ana_case_blame_all(struct ana_case *c, struct ana_ranks ranks); /* each once */
/* Sets state and time of a verdict that rests on `lasted_ns` of standstill.  False: too short for one. */
bool ana_case_settle(struct ana_case *c, enum ana_verdict_class id, enum ana_confidence confidence, int64_t lasted_ns);
/* The shortest time, in ns, that a blocked rank among these has been blocked. */
int64_t ana_case_lasted(const struct ana_case *c, const size_t *index, size_t n);

/* samples.c */
/* Takes a sample of a running job, if the last one is half a second old. */
void ana_samples_take(struct ana_job *job);
/* The share of a core that a rank used between the samples; NAN unknown. */
double ana_samples_cpu(const struct ana_case *c, size_t index);
/* The share of the time between the samples that its main thread was ready to run and had no processor; NAN unknown. */
double ana_samples_queued(const struct ana_case *c, size_t index);
/* The bytes a second that it read and wrote between the samples; NAN unknown. */
double ana_samples_io(const struct ana_case *c, size_t index);

/* waiting.c: finds the waiting operation of each thread.  False: out of memory. */
bool ana_case_waiting(struct ana_case *c);
/* patience.c: least duration, in ns, of an unproven trouble here: hang_ns, or twice the longest wait of the waiting
 * ranks in such a call. */
int64_t ana_patience(const struct ana_case *c);

/* dependencies.c */
/* Whether a thread inside this call waits for the partners of messages, requests or a window. */
bool ana_waits_for_partners(const struct trc_call *call);
/* Finds out what a waiting operation depends on, once. */
void ana_waiting_dependencies(struct ana_case *c, struct ana_waiting *waiting);

/* last_events.c */
/* The last events of a rank, read when they are first asked for.  Never NULL: empty when out of memory. */
struct ana_last_events *ana_case_last_events(struct ana_case *c, size_t index);
/* The longest time of a rank outside MPI between two of these calls, in ns; INT64_MAX: too few calls to tell. */
int64_t ana_longest_outside_ns(struct ana_case *c, size_t index);
/* Whether two signatures have the same communicator, partners and tags. */
bool ana_same_partner(const struct trc_sig *a, const struct trc_sig *b);
/* Calls that may return without having completed anything, so that a program can make them for ever. */
bool ana_may_be_vain(enum trc_opclass opclass);
void ana_last_events_free(struct ana_last_events *last_events); /* NULL is none */
/* Ends a case's last events: of a job that is watched they stay known for the next, as long as nothing new is read of
 * the rank; where all stand still nothing is read anew. */
void ana_case_keep_last_events(struct ana_case *c);
/* Frees the known events. */
void ana_last_events_forget(struct ana_judgement *judgement);

/* pair.c */
/* Finds whether the need of a dependency is under way (dependency->met), and the message that came instead. */
void ana_dependency_check(struct ana_case *c, const struct ana_waiting *waiting, struct ana_dependency *dependency,
                          size_t partner);

/* Number of messages of `sender` that fit the dependency, but were taken by requests of the receiver for any source;
 * 0 where the file does not say. *all: number of such messages its receives took in all. Reads its streams in full:
 * only a few times a verdict. */
int64_t ana_dependency_taken_by_any(struct ana_case *c, const struct ana_dependency *dependency, size_t sender,
                                    int64_t *all);

/* Messages that `sender` has sent to `receiver`, by its counters; -1 unknown. */
int64_t ana_messages_sent(const struct ana_case *c, size_t sender, size_t receiver);
/* Whether, by the counters, a message from `sender` is left that `receiver` has not taken. */
bool ana_message_left(const struct ana_case *c, size_t sender, size_t receiver);

/* gpu.c: gathers the operations under way on devices, as c->gpu.  False: out of memory. */
bool ana_case_gpu(struct ana_case *c);
void ana_case_free_gpu(struct ana_case *c); /* none is fine */
/* gpu_model.c: writes what the host of a rank waits for on its device.  False: nothing is under way there. */
bool ana_gpu_waiting(struct ana_case *c, size_t index, struct ana_waiting *out);
/* Adds the operations to the graph. */
void ana_gpu_model(struct ana_case *c);
/* Adds a node that moves when any operation of the rank can end, and returns it. */
size_t ana_gpu_need(struct ana_case *c, size_t index);

/* spawn.c: the node of a call of MPI_Comm_spawn and the like, for model.c; SIZE_MAX: it may move. */
size_t ana_spawn_need(struct ana_case *c, const struct ana_waiting *waiting);

/* threads.c */
/* Finds which threads of a rank wait aside. */
void ana_rank_threads(struct ana_case *c, size_t index);
/* Whether some thread of a rank is blocked. */
bool ana_rank_blocked(const struct ana_case *c, size_t index);
/* The blocked operation of a rank that has lasted longest, rather one that does not wait aside; NULL: none. */
struct ana_waiting *ana_rank_waiting(struct ana_case *c, size_t index);

/* model.c */
/* Finds who can move on and who cannot, and the knots.  False: out of memory. */
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
/* deviant.c: whether the thread waits for a message from any source. */
bool ana_waits_for_anybody(const struct ana_case *c, const struct ana_waiting *waiting);
/* In a circle with a message from any of many, blames those that differ, else the receiver. False: it is none. */
bool ana_blame_deviants(struct ana_case *c, const size_t *path, size_t n);
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

/* verdict.c */
/* Judges the job as it is known now.  False: out of memory, nothing to free.  Else free with ana_verdict_free. */
bool ana_judge(const struct ana_job *job, struct ana_verdict *out);
void ana_verdict_free(struct ana_verdict *verdict); /* its contents */

/* judgement.c: makes the knowledge of a job kept from one verdict to the next; NULL: out of memory. */
struct ana_judgement *ana_judgement_new(void);
void ana_judgement_free(struct ana_judgement *judgement); /* NULL is none */
/* Takes a sample of a job that was just refreshed, and sets its state to hung if it is, also of one that is over. */
void ana_verdict_refreshed(struct ana_job *job);
/* late.c: looks for a straggler in a summary of the whole run. */
void ana_verdict_summarized(struct ana_job *job, const struct ana_summary *summary);
/* cut.c, off.c: add evidence about files that are cut off, and about times when recording was switched off. */
void ana_say_cut(struct ana_case *c);
void ana_say_off(struct ana_case *c);    /* times without recording */
void ana_say_failed(struct ana_case *c); /* failed.c: calls that failed before, and calls that callbacks make */
/* horovod.c: the job time since when Horovod's loops hang; INT64_MAX: they do not. */
int64_t ana_loops_hung_since(struct ana_case *c);
/* loop_words.c: writes what Horovod's loop on a rank of c->loops does.  False: its MPI calls say more. */
bool ana_loop_words(const struct ana_case *c, size_t index, char *out, size_t size);
/* spawn.c: wait of the other group's leader (*index) in MPI_Intercomm_create; NULL: none there */
struct ana_waiting *ana_other_leader(struct ana_case *c, const struct ana_waiting *p, size_t *index);
/* message.c: tells that a message that nobody takes was sent in place of the one that is waited for. */
void ana_say_near(struct ana_case *c, const struct ana_dependency *dependency, size_t partner);
/* ends.c: whether somebody is in MPI_Init, for no longer than a slow start takes. */
bool ana_case_starting(const struct ana_case *c);
/* stopped.c */
enum ana_stop {
    ANA_MOVES,
    ANA_STOPPED, /* stopped by a signal: the kernel says so */
    ANA_FROZEN,  /* it exists, and its heartbeat has stopped */
    ANA_SILENT   /* heartbeat has stopped, and nothing else is known of it */
};
/* Finds the hosts that fell silent while others are heard; before ana_case_stop. */
void ana_case_find_quiet(struct ana_case *c);
/* Whether and how a process is stopped. */
enum ana_stop ana_case_stop(const struct ana_case *c, size_t index);
/* Adds evidence that culprits whose heartbeat has stopped still exist. */
void ana_say_stopped(struct ana_case *c);

/* deaths.c: whether a rank that is there is blocked, and only others can free it. */
bool ana_anybody_waits(struct ana_case *c);
struct ana_deaths;
/* killed.c: tells that ranks were killed or told to end, and where each had been since when; nobody is blamed. */
void ana_say_killed(struct ana_case *c, const struct ana_deaths *deaths, enum ana_confidence confidence);
/* Whether, in a job that is over, one rank died clearly before the others, and nothing hung before. */
bool ana_died_first(struct ana_case *c);
/* Whether a job that is over hung longer before `end_ns` than it went on after it. */
bool ana_hung_before(struct ana_case *c, int64_t end_ns);

/* text.c */
/* Writes where a stack is: "app.c:17 in step", else its frame's function and module; empty where there is none. */
void ana_stack_place_words(const struct ana_job *job, const struct ana_stack *stack, char *out, size_t size);
/* Writes a call site: "app.c:17 in step"; empty where it is not known. */
void ana_site_words(const struct ana_job *job, size_t index, uint64_t site, char *out, size_t size);
/* Makes the verdict on a read or write of a file in a job that is over less certain. */
void ana_doubt_files(struct ana_case *c);
/* Fills the verdict's groups: all ranks by their activity. */
void ana_case_groups(struct ana_case *c, struct ana_verdict *verdict);
/* Writes the call of a fact: "MPI_Recv from rank 1, tag 7". */
void ana_call_fact_words(const struct ana_case *c, struct ana_call call, char *out, size_t size);
/* Writes what a dependency needs: "a message from rank 1 with tag 7 on rows". */
void ana_dependency_words(const struct ana_case *c, const struct ana_dependency *dependency, char *out, size_t size);

/* gpu_find.c: whether an operation of a rank that is not gone has lasted long. */
bool ana_gpu_anybody_waits(struct ana_case *c);
/* Detectors, one for each kind of trouble. Each, on finding it, fills c->out and returns true. */
#define DETECTOR(name, kind, looks_for) bool ana_find_##name(struct ana_case *c);
#include "trace/verdict/detectors.def"
#undef DETECTOR

/* reason.c: a reason as a fact; an empty one for none. */
struct ana_fact ana_reason_fact(const struct ana_reason *reason);
/* known_bad.c: adds evidence where versions or settings are known to be bad. */
void ana_known_bad(struct ana_case *c);

#endif
