/* Random runs of Horovod whose end is known: what the verdict on its loops is measured with.
 *
 *   hvd_plan      ranks, process sets, tensors, and one fault planted, or none
 *   hvd_simulate  Horovod's protocol, cycle by cycle: submitted tensors by rank, agreed ones, refused ones
 *   and writes on the way the files that a recorder would have left when all ranks were killed, or at the end
 *
 * The engine sees only the files. */
#ifndef HVD_RUN_H
#define HVD_RUN_H

#include <stdbool.h>
#include <stdint.h>

enum { HVD_RANKS = 8, HVD_SETS = 3, HVD_TENSORS = 40, HVD_NAME = 64 };

#define HVD_FAULTS(FAULT)                                                                                              \
    FAULT(NONE, "none")                                                                                                \
    FAULT(STUCK, "stuck in user code")                                                                                 \
    FAULT(ONLY, "a tensor of one rank only")                                                                           \
    FAULT(NAME, "another name")                                                                                        \
    FAULT(SHAPE, "another shape")                                                                                      \
    FAULT(TYPE, "another type")                                                                                        \
    FAULT(OPERATION, "another operation")                                                                              \
    FAULT(ROOT, "another root")                                                                                        \
    FAULT(LOOP, "its loop stands still")                                                                               \
    FAULT(KILLED, "killed")                                                                                            \
    FAULT(SHUTDOWN, "leaves early")                                                                                    \
    FAULT(JOIN, "joins alone")                                                                                         \
    FAULT(JOIN_BCAST, "joins, others broadcast")                                                                       \
    FAULT(SWAPPED, "waits in another order")                                                                           \
    FAULT(BARRIER, "waits in mpi4py's Barrier")
enum hvd_fault {
#define FAULT(id, words) HVD_FAULT_##id,
    HVD_FAULTS(FAULT)
#undef FAULT
        HVD_FAULT_KINDS
};

/* Tensor that a rank submits. */
struct hvd_request {
    char name[HVD_NAME];
    int op, type;
    int32_t root;
    int64_t rows, columns;
};

struct hvd_set {
    int size, member[HVD_RANKS]; /* world ranks, ascending */
    int tensors;
    struct hvd_request tensor[HVD_TENSORS];
};

struct hvd_run {
    int ranks, sets, steps[HVD_RANKS];
    struct hvd_set set[HVD_SETS];
    int capacity;        /* size of the cache; 0: off */
    bool blocking;       /* each tensor is waited for before the next is submitted */
    bool fused, joins;   /* several tensors in one response; ranks join when they have no more data */
    int compute, jitter; /* cycles before a step: least, and most more */
    int64_t cycle_ns;
    uint64_t nccl_from; /* bytes from which on a tensor goes by NCCL; 0: all by MPI */
    bool nccl_hidden;   /* NCCL's calls are in no file */
    enum hvd_fault fault;
    int culprit, at_step, at_set, at_tensor;
    int cut; /* cycle at which all ranks are killed; 0: never */
    uint64_t random;
    /* result of the run */
    bool finished; /* every rank ended by itself */
    int64_t end_ns;
};

/* A number below `n`, n > 0. */
static inline uint32_t hvd_random(uint64_t *state, uint32_t n)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return (uint32_t)((*state >> 20) % n);
}

/* Makes the run of a seed. */
void hvd_plan(uint64_t seed, struct hvd_run *run);
/* Runs it and writes its files into a folder. */
void hvd_simulate(struct hvd_run *run, const char *folder);

/* ---- between the files of this ----------------------------------------------------------------------------------- */

struct hvd_files;
/* Begins the files of all ranks. */
struct hvd_files *hvd_files_open(const struct hvd_run *run);
/* Words of a set's members in an AND or OR, and the result. */
void hvd_files_words(struct hvd_files *files, int set, int member, bool is_or, uint64_t cycle, const uint64_t *in,
                     const uint64_t *out, int words);
/* The list that a member sends, and the answer that it gets. */
void hvd_files_lists(struct hvd_files *files, int set, int member, uint64_t cycle, const struct hvd_request *request,
                     int requests, bool shutdown, const void *answer, uint32_t size);
/* Words without a cache, with empty lists. */
void hvd_files_idle(struct hvd_files *files, int set, int member, uint64_t cycle);
/* Carries out tensors on a member: bytes by MPI, and by NCCL. */
void hvd_files_operation(struct hvd_files *files, int set, int member, const uint64_t bytes[2]);
/* End of a rank: its loop waits in a cycle of this set (-1: it is outside MPI), its program in MPI_Barrier. */
struct hvd_end {
    int64_t ns; /* end of its heartbeat, or it finalized */
    bool finalized, in_barrier;
    int waits_in;
    int64_t since_ns;
};
/* Writes the files and frees all. */
void hvd_files_close(struct hvd_files *files, const struct hvd_end *end, const char *folder);
/* The time of the cycle under way. */
void hvd_files_time(struct hvd_files *files, int64_t ns);

#endif
