/* Horovod in a trace: who has submitted which tensor and when, tensors agreed on or refused, running operations, the
 * last rank.  These are facts; judging the job by them is the verdict's business (trace/verdict/horovod.c).
 *
 * Horovod's background loop asks all ranks once a cycle (1 ms) for their ready tensors: the bitwise AND of one word a
 * rank (more with many tensors), its bits the entries of a cache of earlier answers; tensors outside the cache are sent
 * by name to rank 0 of the process set, which answers with the tensors that all have asked for.  The recorder keeps
 * both (format.h, ROUND).  The cache is replayed here, so that bits have names.  The k-th AND happens on all ranks
 * together: its number is the clock of the job, and lateness in cycles needs no clocks at all.
 * Source: Horovod 0.28.1, controller.cc, response_cache.cc, mpi_controller.cc, wire/message_generated.h.
 *
 * Limits: the requests of rank 0 of a process set are on no wire, so its submission of a tensor that is not in the
 * cache follows only when all others have (ANA_HVD_UNKNOWN; so is a rank whose file is not here).  Data operations of a
 * library that hides its calls are inferred.
 * After the oldest items were recycled, bits whose name was only in them are called "tensor at bit N".
 *
 * Job time (job.h) everywhere.  Pure; not for the traced process. */
#pragma once

#include "trace/job/job.h"

/* Operations, by their numbers on the wire. */
enum ana_hvd_op {
    ANA_HVD_ALLREDUCE = 0,
    ANA_HVD_ALLGATHER,
    ANA_HVD_BROADCAST,
    ANA_HVD_JOIN,
    ANA_HVD_ADASUM,
    ANA_HVD_ALLTOALL,
    ANA_HVD_BARRIER,
    ANA_HVD_REDUCESCATTER,
    ANA_HVD_OPS
};
/* "allreduce" ...; never NULL. */
const char *ana_hvd_op_name(enum ana_hvd_op op);

enum ana_hvd_submitted { ANA_HVD_NO, ANA_HVD_YES, ANA_HVD_UNKNOWN, ANA_HVD_JOINED /* needs not */ };

#define ANA_HVD_NEVER INT64_MIN
#define ANA_HVD_SLOW  10u /* steps of a set */

/* A tensor of one process set. */
struct ana_hvd_tensor {
    char *name;
    enum ana_hvd_op op;
    int dtype;             /* code on the wire: 7 = float32; -1 unknown */
    uint64_t elements;     /* 0 unknown */
    uint64_t done;         /* times that it was agreed on (and so carried out) */
    int64_t agreed_ns;     /* the last time; ANA_HVD_NEVER */
    uint64_t step;         /* it was agreed on last in the step of this number, from 1; 0 never */
    bool pending;          /* some rank has submitted it and not all have */
    int64_t since_ns;      /* pending: since its first rank submitted it */
    uint8_t *submitted;    /* enum ana_hvd_submitted of each rank of the set, since the last agreement */
    int64_t *submitted_ns; /* time of the last submission, even if agreed on since; ANA_HVD_NEVER */
    uint64_t *submitted_cycle;
    uint32_t *form; /* form of each rank's request since then: 1 + the place in ana_hvd_set.form; 0: nothing seen */
    uint32_t agreed_form; /* the form at the last agreement by name */
};

/* The properties of a tensor in a request.  All ranks must give equal ones; an allgather's first dimension is free. */
struct ana_hvd_form {
    int op; /* enum ana_hvd_op */
    int dtype, reduction;
    int32_t root;   /* root rank of a broadcast */
    char shape[40]; /* text in Horovod's form, "[64, 32]"; cut off if longer */
};

/* Reasons of the coordinator to refuse a tensor. */
enum ana_hvd_reason {
    ANA_HVD_TYPES, /* ranks differ in this */
    ANA_HVD_OPERATIONS,
    ANA_HVD_SHAPES,
    ANA_HVD_ROOTS,
    ANA_HVD_REDUCTIONS,
    ANA_HVD_WITH_JOIN, /* ranks have joined, and the operation does not go with that */
    ANA_HVD_OTHER_REASON
};
#define ANA_HVD_VALUE 48u
struct ana_hvd_refusal {
    size_t count;  /* tensors refused since the program has last got over it; 0: none, and the rest means nothing */
    size_t tensor; /* the first tensor refused */
    uint64_t cycle;
    int64_t ns;
    uint64_t step; /* under way then */
    enum ana_hvd_reason reason;
    char usual[ANA_HVD_VALUE];   /* the property in which they differ, as all had it at the last agreement; ""
                                    unknown */
    char error[200];             /* Horovod's wording; cut off if longer */
    char (*said)[ANA_HVD_VALUE]; /* each member's value of that property: "float32", "[64, 32]" ..; "" unknown */
};

enum ana_hvd_phase {
    ANA_HVD_OUTSIDE,     /* between its calls: sleeping, or standing still */
    ANA_HVD_ROUND,       /* inside the AND or OR of a cycle */
    ANA_HVD_NEGOTIATING, /* inside the exchange of lists */
    ANA_HVD_OPERATION,   /* inside a data operation */
    ANA_HVD_OTHER_SET,   /* inside any call above, for another process set */
    ANA_HVD_OTHER,       /* inside another MPI call */
    ANA_HVD_ENDED        /* loop left, or process ended */
};
/* "between cycles" "cycle" "negotiation" "operation" ...; never NULL. */
const char *ana_hvd_phase_name(enum ana_hvd_phase phase);

/* The loop of one rank of a process set. */
struct ana_hvd_rank {
    size_t index;     /* rank index in the job; SIZE_MAX: this member has no file */
    uint32_t thread;  /* runs the loop */
    bool alive;       /* best estimate */
    uint64_t cycles;  /* ANDs completed */
    int64_t cycle_ns; /* time of the last AND: about now if the loop still turns */
    enum ana_hvd_phase phase;
    const char *inside; /* MPI call of the loop's thread; NULL outside */
    int64_t inside_since_ns;
    uint64_t inside_bytes;   /* size of the data operation */
    const char *main_inside; /* MPI call that another thread of the process is in, else NULL */
    int64_t main_since_ns;
    bool wants_shutdown;
    bool joined, maybe_joined; /* member 0: its join is on no wire, and only its ready bits hint at it */
    int64_t joined_ns;
    bool asks; /* member 0: it asked for something by name, on no wire, and nothing that it can be was agreed on */
    int64_t asks_ns;
    uint64_t asks_cycle;
    int64_t shutdown_ns; /* time of its first request for shutdown; ANA_HVD_NEVER */
    uint64_t shutdown_cycle;
    size_t ready;                /* cached tensors that it has ready now and not all have */
    uint64_t steps, last;        /* batches of tensors agreed on; batches in which this rank came last */
    double late_cycles, late_ms; /* mean lateness over the steps, against the first rank */
    double last_cycles, last_ms; /* mean over the batches in which it came last; 0 if none */
    uint64_t operations;
    uint64_t operation_bytes;             /* handed to MPI */
    int64_t operation_ns, negotiation_ns; /* time inside data operations; inside cycles and lists */
    int64_t operation_begin_ns;           /* begin of the first operation; ANA_HVD_NEVER */
};

/* Tensors that were agreed on, each once, from the first rank's submission on: a training step, as a rule. */
struct ana_hvd_step {
    uint64_t number; /* from 1 */
    int64_t from_ns; /* the end of the step before; of the first its begin: so long it took, computing included */
    int64_t begin_ns, end_ns;
    uint32_t tensors;
    uint32_t last_rank; /* rank in the set; UINT32_MAX: two came last in one cycle */
    double cycles, ms;  /* lag of the last rank behind the first */
};

/* Usual lengths: medians of the kept steps, in ns; NAN: there are none. */
struct ana_hvd_usual {
    double all, before,
        late; /* a step; until its first tensor is submitted; what its last rank comes after the first */
};
/* The part of a step that exceeded its usual length most. */
enum ana_hvd_differs { ANA_HVD_NOTHING, ANA_HVD_LATE, ANA_HVD_BEFORE };

enum ana_hvd_library { ANA_HVD_NONE, ANA_HVD_MPI, ANA_HVD_GLOO, ANA_HVD_NCCL, ANA_HVD_NOT_MPI };

/* Calls of one library in the threads that run a set's loops, of all ranks together. */
struct ana_hvd_carried {
    uint64_t operations; /* on data */
    uint64_t reduced;    /* bytes that allreduces and reduce-scatters sent */
    uint64_t rounds;     /* control collectives, a call on each rank */
};

struct ana_hvd_set {
    uint64_t comm_identity;
    size_t ranks; /* members, in the order of the communicator: rank 0 coordinates */
    struct ana_hvd_rank *rank;
    size_t tensors; /* ordered by first sight */
    struct ana_hvd_tensor *tensor;
    size_t pending; /* of them */
    size_t forms;
    struct ana_hvd_form *form;
    struct ana_hvd_refusal refusal;
    uint64_t cycles;   /* count of the rank that is farthest */
    double cycle_rate; /* a second, over the last second or so of the job; NAN unknown */
    bool cache;        /* the response cache is on */
    bool nccl_named;   /* 128 bytes were broadcast: the name of a communicator of NCCL */
    uint64_t steps;
    size_t kept_steps;               /* number of the newest steps kept */
    const struct ana_hvd_step *step; /* oldest first */
    struct ana_hvd_usual usual;
    size_t slow_steps; /* longest of all steps, longest first */
    struct ana_hvd_step slow[ANA_HVD_SLOW];
    struct ana_hvd_carried by[ANA_HVD_NOT_MPI];
    int64_t rounds_ns; /* time from the first to the last control round, summed over ranks */
    enum ana_hvd_library
        library;       /* carries most of the data.  Without a call of it, NCCL is inferred from the 128 bytes
                                     that name a communicator, NOT_MPI from agreed tensors without an operation */
    bool names_lost;   /* the oldest items were recycled: not every bit has a name */
    int64_t agreed_ns; /* time of the last agreement; ANA_HVD_NEVER */
    struct {           /* the last cycle that stood still for a second or more, over though it is now */
        int64_t begin_ns, end_ns; /* since when the first waited, when the last came; ANA_HVD_NEVER: none */
        uint64_t cycle;
        size_t member; /* the last to come */
    } stall;
    int64_t now_ns; /* job time, the end of the records read */
};

struct ana_hvd {
    size_t sets; /* 0: no loop was seen in this job */
    struct ana_hvd_set *set;
};

/* Returns the state of Horovod in this job.  The first call reads the files from their begin, each later one the
 * records added since the last ana_job_refresh.  Never NULL; owned by the job, valid until the next call. */
const struct ana_hvd *ana_job_horovod(const struct ana_job *job);
struct ana_upper;
/* Enters Horovod's functions into the table of trace/job. */
void ana_horovod_enter(struct ana_upper *upper);
/* Bytes that Horovod reduced, of all ranks together. */
struct ana_hvd_gradients {
    double bytes, by[ANA_HVD_NOT_MPI]; /* by library */
    double unseen;                     /* agreed on, and in no recorded call */
    bool nccl;                         /* the unseen went by NCCL: inferred from names of communicators */
    enum ana_hvd_library control;      /* makes the control rounds; NONE unknown */
    double rounds_per_s;               /* control collectives of a rank; NAN unknown */
};
/* Adds up the gradients of `n` sets. */
struct ana_hvd_gradients ana_hvd_gradients(const struct ana_hvd_set *set, size_t n);
/* Writes "of 5.2 GB of gradients (4 ranks) 5.1 GB went by NCCL and 0.1 GB by MPI; control by MPI, 900 small collectives
 * a second"; false: nothing was reduced. */
bool ana_hvd_gradients_words(const struct ana_hvd *hvd, bool utf8, char *out, size_t size);
/* Returns the part that made a step slow, if it explains a fifth of the excess time. */
enum ana_hvd_differs ana_hvd_step_differs(const struct ana_hvd_set *set, const struct ana_hvd_step *step);
/* Writes "step 14 took 3.1 x: rank 3 came 42 ms after the first, usually 2 ms". */
void ana_hvd_step_words(const struct ana_job *job, const struct ana_hvd_set *set, const struct ana_hvd_step *step,
                        char *out, size_t size);
