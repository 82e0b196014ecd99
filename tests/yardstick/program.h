/* Random MPI programs whose end is known: what the verdict is measured with.
 *
 *   generate  a correct program of 2 to 64 ranks, then one fault planted, or none
 *   simulate  MPI's rules: who completes what and when, who can never move
 *   record    the files that a recorder would have written by one moment, or by two
 *   process   what /proc and the clocks say at that moment
 *
 * The engine sees only the files, /proc and the clocks. */
#ifndef YARDSTICK_PROGRAM_H
#define YARDSTICK_PROGRAM_H

#include "tests/support/trace_builder.h"

enum {
    MOST_RANKS = 64,
    MOST_ACTORS = 2 * MOST_RANKS,
    MOST_OPS = 400,
    MOST_LOG = 1600,
    MOST_COMMS = 24,
    MOST_SLOTS = 16,
    EAGER = 4096 /* bytes of a message that is kept until somebody receives it */
};
enum { NOBODY = -1, ANY = -2, REPLY = -3 }; /* REPLY: whoever sent, or the tag of, what this thread got last */

enum call {
#define CALL(id, name, class) CALL_##id,
#include "tests/yardstick/calls.def"
#undef CALL
    CALLS
};

enum kind {
#define KIND(id, name) OP_##id,
#include "tests/yardstick/kinds.def"
#undef KIND
    KINDS
};

enum how { ALL_OF, ONE_OF, SOME_OF };

struct op {
    enum kind kind;
    enum call call;
    int comm;  /* index of program.comm */
    int makes; /* the communicator that this collective makes; 0: none */
    int to, from;
    int tag, rtag;        /* tags of the sent, of the received message */
    uint64_t bytes, room; /* bytes sent, or each way; room to receive (0: as many as `bytes`) */
    int root;             /* world rank; NOBODY */
    int slot, slots;      /* requests: the first, how many */
    enum how how;         /* a wait: of its requests */
    bool polls;           /* Test, Iprobe .. in a loop until it says yes */
    bool shared;          /* a lock */
    bool idle;            /* a computation that uses no processor */
    uint64_t group;       /* world ranks, of an epoch */
    int64_t ns;           /* duration of a computation; between two polls */
    int count;            /* polls during a computation; OP_LOOP: how many operations back; a lost result: which */
    int phase;            /* part of the program: operations that belong together */
};

enum comm_kind { COMM_PLAIN, COMM_NEIGHBOURS, COMM_INTER, COMM_WINDOW, COMM_FILE };
struct comm {
    enum comm_kind kind;
    int size, remote; /* members of an intercommunicator: the two groups, one after the other */
    int member[MOST_RANKS];
    uint64_t from[MOST_RANKS]; /* COMM_NEIGHBOURS: world ranks that a world rank gets from */
    int parent;
    enum call by;
    int thread; /* thread which may use it */
};

enum fault {
#define FAULT(id, name) FAULT_##id,
#include "tests/yardstick/faults.def"
#undef FAULT
    FAULTS
};
extern const char *const fault_name[FAULTS];

/* A thread of a rank: its main one, or the second. */
struct actor {
    int rank, thread, ops;
    struct op op[MOST_OPS];
};

struct program {
    uint64_t seed;
    int ranks, actors, comms;
    struct comm comm[MOST_COMMS]; /* the first is the world */
    struct actor actor[MOST_ACTORS];
    enum fault fault;
    bool blame[MOST_RANKS]; /* ranks which may be called the culprit of it */
    bool pauses;            /* some ranks compute or sleep for long */
    bool spins;             /* waiting in MPI uses a processor */
    bool one_processor;
    int pace;        /* length of computations */
    bool lazy_locks; /* MPI_Win_lock returns before it has the lock */
};

/* A message that came. */
struct got {
    int from, tag; /* NOBODY: its receive was cancelled */
    uint64_t bytes;
};

/* One execution of an operation. */
struct done {
    int op;
    int64_t begin, end; /* ns; NEVER */
    uint64_t sequence;  /* number of a collective */
    int to, from, tag;  /* receiver; source and tag of the received message */
    uint64_t bytes;
    uint32_t completed;    /* bit i: of its requests the i-th */
    uint64_t sequences[4]; /* numbers of collectives that MPI_Start began */
    struct got got[6];     /* messages by its requests */
    int64_t looked;        /* time at which a computation that polls saw its request complete; 0: never */
    bool fails;            /* it found an error, which ends the job */
};
#define NEVER INT64_MAX

struct run {
    int done[MOST_ACTORS]; /* executions begun */
    struct done log[MOST_ACTORS][MOST_LOG];
    int64_t last;             /* time at which anything happened for the last time */
    bool finished;            /* all ranks came to the end of MPI_Finalize */
    bool stuck[MOST_RANKS];   /* no thread of it can move */
    int64_t gone[MOST_RANKS]; /* time at which the process ended without MPI_Finalize; NEVER */
    bool ended_all;           /* one ended the job for all */
};

uint64_t random_next(uint64_t *state);
/* Random number from 0 to n - 1. */
int random_below(uint64_t *state, int n);

/* The program of a seed. */
void generate(uint64_t seed, struct program *out);

/* Runs it to where nobody can move any more.  `killed`: when each rank is ended from outside (NEVER); NULL: nobody. */
void simulate(const struct program *program, const int64_t *killed, struct run *out);

/* Makes the files of a job in `folder`. */
void record_begin(const struct program *program, const struct run *run, const char *folder);
/* Brings the file of a rank to `ns`. */
void record_until(int rank, int64_t ns);
/* Done with the files. */
void record_end(void);

/* Puts host, pid and start of the process of a rank into the head of its file. */
void process_fill(struct trc_head *head, int rank);
/* Sets the clocks to `ns` of the job, and what /proc says of its processes then; `exist`: whether they do. */
void process_set(const struct program *program, const struct run *run, int64_t ns, bool exist);

#endif
