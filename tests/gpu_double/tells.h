/* NCCL's reports to others, as in its releases: NVTX ranges around its calls (2.8 on), and events to a profiler
 * plugin (2.23 on).  Layouts and order are the ones of the release that the double claims to be. */
#ifndef GPU_DOUBLE_TELLS_H
#define GPU_DOUBLE_TELLS_H

#include <stddef.h>
#include <stdint.h>

int tells_version(void); /* 22809, or GPU_DOUBLE_NCCL_VERSION */

/* NCCL's hash of a communicator: of the unique id; of the parent's, how many children it had, and the color. */
uint64_t tells_hash(const void *id, size_t size);
uint64_t tells_child_hash(uint64_t parent, int children, int color);

uint64_t tells_combined_hash(uint64_t a, uint64_t b);

/* ---- ranges: each function of NCCL is one */

void tells_push(const char *function); /* range without a payload, or with one that comes at the end */
void tells_push_data(const char *function, uint64_t comm, uint64_t bytes, int number); /* number: op, root, peer; -1 */
void tells_push_comm(const char *function, uint64_t comm, int n, int rank);
void tells_pop(void);
void tells_pop_made(const char *function, uint64_t comm, uint64_t parent, int n, int rank);

/* ---- the plugin: its calls for a communicator, and for an operation from its call to its end */

struct tells_comm {
    void *context;
    uint64_t hash, sequence[16];
    int rank, n;
};
void tells_init(struct tells_comm *comm, uint64_t hash, int n, int rank);
void tells_finalize(struct tells_comm *comm);

struct tells_op {
    struct tells_comm *comm;
    int kind; /* enum kind of nccl.c, in the order of names in tells.c */
    size_t count;
    int type, op, root; /* root, or the peer */
    const void *send;
    void *receive, *stream;
    void *api, *task, *channel[2]; /* the plugin's handles */
};
void tells_call(struct tells_op *op, int depth); /* the function of the program */
void tells_called(struct tells_op *op);
void tells_group_ends(void); /* before the first launch of a group, and after the last */
void tells_group_ended(void);
void tells_launch(struct tells_op *op); /* Called by the thread that launches. */
void tells_launched(struct tells_op *op);
void tells_begun(struct tells_op *op); /* Called by another thread: the kernel. */
void tells_ended(struct tells_op *op);

#endif
