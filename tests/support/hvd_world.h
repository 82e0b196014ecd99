/* Inside the simulation of Horovod (hvd_run.h): the loops of a set, the programs, and what joins them. */
#ifndef HVD_WORLD_H
#define HVD_WORLD_H

#include "tests/support/hvd_run.h"

enum { ALLREDUCE = 0, ALLGATHER = 1, BROADCAST = 2, JOIN = 3, REFUSED = 8 };
enum { HVD_QUEUE = 4 * HVD_TENSORS };
enum { NO_SHUTDOWN = 1, NO_UNCACHED = 2, NO_INVALID = 4, STATUS = 3, WORDS = 2, BITS = 64 * WORDS - STATUS };

/* ---- state that a set's loops share ------------------------------------------------------------------------------ */

struct entry { /* entries of the cache, the same on all ranks */
    struct hvd_request of;
    uint64_t stamp;
    bool used;
};
struct asked { /* requests by name, at the coordinator */
    struct hvd_request of[HVD_RANKS];
    int member[HVD_RANKS], n;
};
struct loop {
    struct hvd_request queue[HVD_RANKS][HVD_QUEUE];
    int queued[HVD_RANKS], open[HVD_RANKS]; /* open: submitted and not answered */
    bool joined[HVD_RANKS], joins[HVD_RANKS];
    struct entry cache[BITS];
    int bits;
    struct asked asked[2 * HVD_TENSORS];
    int asks;
    uint64_t cycle, stamp;
};

/* A program's next action. */
struct rank {
    int step, set, next; /* next: tensor to submit */
    int compute;         /* cycles */
    bool started, stuck, barrier, leaving, joined, loop_dead, killed, failed;
    int64_t since_ns;
};

struct world {
    struct hvd_run *run;
    struct hvd_files *files;
    struct loop loop[HVD_SETS];
    struct rank rank[HVD_RANKS];
    int64_t now_ns;
    bool moved, over;
    struct { /* words of a cycle of a set */
        struct hvd_request answer[2 * HVD_TENSORS];
        char error[2 * HVD_TENSORS][160];
        int answers;
    } said;
};

/* One cycle of set `s`. */
void hvd_turn_set(struct world *w, int s);

#endif
