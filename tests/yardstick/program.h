/* Random MPI programs whose end is known: what the verdict is measured with.
 *
 *   generate  a correct program of 2 to 16 ranks, then one fault planted, or none
 *   simulate  MPI's rules: who completes what and when, who can never move
 *   record    the files that a recorder would have left at one moment
 *
 * The engine sees only the files. */
#ifndef YARDSTICK_PROGRAM_H
#define YARDSTICK_PROGRAM_H

#include "tests/support/trace_builder.h"

enum { MOST_RANKS = 16, MOST_OPS = 160, MOST_COMMS = 6, MOST_PLACES = 200, ANY = -2 };

enum kind {
    OP_COMPUTE, /* for `ns` */
    OP_SEND,    /* call: MPI_Send (waits for its receive where it has more than EAGER bytes) or MPI_Ssend */
    OP_RECV,
    OP_SENDRECV,
    OP_ISEND,
    OP_IRECV,
    OP_COLLECTIVE,
    OP_ICOLLECTIVE,
    OP_WAITALL,  /* for all requests that this rank has started */
    OP_TEST,     /* polls with MPI_Test until its last request is complete */
    OP_PROBE,    /* until a message is there; it stays there */
    OP_IPROBE,   /* polls until a message is there */
    OP_FINALIZE, /* waits for all ranks */
    OP_STUCK,    /* outside MPI, for ever */
    OP_EXIT      /* leaves without MPI_Finalize */
};
#define EAGER 4096u

struct op {
    enum kind kind;
    enum tb_call call;
    int comm;       /* index of program.comm */
    int to, from;   /* world ranks; ANY */
    int tag, rtag;  /* of what is sent, of what is received; ANY */
    uint64_t bytes; /* each way */
    int root;       /* of a collective, a world rank; -1: it has none */
    int64_t ns;
    int phase; /* of the program: operations that belong together */
};

struct comm {
    int size, member[MOST_RANKS]; /* world ranks */
};

enum fault {
    FAULT_NONE,
    FAULT_SKIPPED,    /* one rank leaves a collective out */
    FAULT_OTHER_CALL, /* one rank calls another collective instead */
    FAULT_OTHER_ROOT, /* one rank thinks that another one is the root */
    FAULT_SWAPPED,    /* one rank calls two collectives in the other order */
    FAULT_NO_SEND,
    FAULT_NO_RECV,
    FAULT_TAG,     /* a receive waits for another tag than is sent */
    FAULT_CIRCLE,  /* all send, synchronously, before they receive; or receive before they send */
    FAULT_OUTSIDE, /* one rank never comes back to MPI */
    FAULT_EXIT,    /* one rank leaves early */
    FAULTS
};
extern const char *const fault_name[FAULTS];

struct program {
    uint64_t seed;
    int ranks, comms;
    struct comm comm[MOST_COMMS]; /* the first is the world */
    int ops[MOST_RANKS];
    struct op op[MOST_RANKS][MOST_OPS];
    enum fault fault;
    bool blame[MOST_RANKS]; /* who may be called the culprit of it */
};

/* What a rank did. */
struct done {
    int64_t begin, end; /* ns; end INT64_MAX: never */
    uint64_t sequence;  /* of a collective */
    int from, tag;      /* what was received, or is there */
};
struct run {
    int done[MOST_RANKS]; /* how many operations were begun */
    struct done op[MOST_RANKS][MOST_OPS];
    int64_t last;  /* when anything happened for the last time */
    bool finished; /* all ranks came to the end of MPI_Finalize */
    bool stuck[MOST_RANKS];
};

uint64_t random_next(uint64_t *state);
/* From 0 to n - 1. */
int random_below(uint64_t *state, int n);

/* The program of a seed. */
void generate(uint64_t seed, struct program *out);

/* Runs it to where nobody can move any more. */
void simulate(const struct program *program, struct run *out);

/* The files in `folder` as they were at `ns`; those of ranks that left before end there. */
void record(const struct program *program, const struct run *run, int64_t ns, const char *folder);

#endif
