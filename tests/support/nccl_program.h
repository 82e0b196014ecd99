/* Random programs of MPI and NCCL whose end is known: what each rank calls, one fault planted or none, and where all
 * ranks and streams stand when nothing moves any more, by the rules of both libraries.
 *
 * A call of NCCL puts an operation on a stream and returns; streams work in order; an operation of a communicator ends
 * when all have come to it with the same arguments, a message when both ends have. */
#ifndef NCCL_PROGRAM_H
#define NCCL_PROGRAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { NP_RANKS = 8, NP_COMMS = 3, NP_STREAMS = 2, NP_STEPS = 80 };

enum np_kind { NP_COLLECTIVE, NP_SEND, NP_RECV, NP_SYNC, NP_BARRIER, NP_MPI_SEND, NP_MPI_RECV, NP_KERNEL, NP_LEAVE };
struct np_step {
    uint8_t kind, comm, call, stream;
    int8_t root; /* root or peer: a rank of the communicator; of MPI, of the world */
    bool error;  /* NCCL will report one */
    uint32_t count;
};

enum np_fault {
    NP_NONE,
    NP_OUTSIDE,    /* the rank computes for ever before a collective */
    NP_LEFT_OUT,   /* it leaves one collective out */
    NP_OTHER_CALL, /* ... */
    NP_OTHER_COUNT,
    NP_OTHER_ROOT,
    NP_STREAM_ORDER, /* two operations on one stream in the other order */
    NP_HOST_ORDER,   /* MPI_Barrier and then the collective, where others do it the other way round */
    NP_HOST_RECV,    /* MPI_Recv before the collective whose end its sender waits for */
    NP_NO_SEND,
    NP_NO_RECV,
    NP_BLOCKED, /* a kernel before the operation does not end */
    NP_ERROR,
    NP_FAULTS
};
extern const char *const np_fault_name[NP_FAULTS];

struct np_comm {
    int size, member[NP_RANKS]; /* ranks of the world */
    uint8_t stream;
};
struct np_program {
    int ranks, comms, steps[NP_RANKS];
    struct np_comm comm[NP_COMMS];
    struct np_step step[NP_RANKS][NP_STEPS];
    enum np_fault fault;
    int culprit;
    bool blame[NP_RANKS]; /* the culprit, and who may be named beside it */
};

/* An operation on a stream of a rank. */
enum np_state { NP_ENQUEUED = 2, NP_STARTED, NP_COMPLETED };
struct np_op {
    const struct np_step *step;
    enum np_state state;
    uint64_t sequence;
    int64_t enqueued, started, ended; /* ns */
};
/* State of everything. */
struct np_run {
    bool finished;    /* all ranks came to their end */
    int64_t now;      /* ns */
    int at[NP_RANKS]; /* the step that each host is in, NP_STEPS: it has ended */
    int64_t since[NP_RANKS], end[NP_RANKS][NP_STEPS];
    int ops[NP_RANKS];
    struct np_op op[NP_RANKS][NP_STEPS];
};

/* Makes program number `seed`. */
void np_generate(uint64_t seed, struct np_program *out);
/* Runs it until nothing moves or `rounds` rounds are over; INT_MAX: to the end. */
void np_run(const struct np_program *program, uint64_t seed, int rounds, struct np_run *out);
/* The rank in a communicator of a rank of the world; -1: it is no member. */
int np_rank_in(const struct np_comm *comm, int rank);

#endif
