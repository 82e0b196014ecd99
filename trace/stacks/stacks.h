/* Stacks of a file or a job: parsed, the newest of each process, and grouped by common frames.
 * Pure: structs in, structs out.  Not for the traced process.
 *
 *     struct ana_stacks stacks;
 *     ana_stacks_read(job, &stacks);                       the newest snapshot of every rank
 *     struct ana_stack_group *group;
 *     size_t n = ana_stacks_group(&stacks, &group);        main threads by equal stack, the odd one out first
 *     ... stacks.stack[group[0].member[0]] ...
 *     ana_stack_groups_free(group, n);
 *     ana_stacks_free(&stacks);
 *
 * Everything taken is owned by the ana_stacks and lives until ana_stacks_free, whatever is refreshed meanwhile. */
#pragma once

#include "trace/util/budget.h"
#include "trace/job/job.h"

/* One frame; strings are never NULL. */
struct ana_frame {
    bool python;
    const char *function; /* "load_batch", "read"; "?" unknown */
    const char *file;     /* Python: source file as the interpreter has it; native: module, "" unknown */
    uint32_t line;        /* Python; 0 unknown */
    uint64_t offset;      /* native: into the function, into the module where that is "?" */
    uint64_t in_module;   /* native: into the module; 0 unknown */
};

/* One thread of one process at one moment. */
struct ana_stack {
    size_t index; /* rank index, as in ana_job_rank */
    uint32_t snapshot, tid;
    uint64_t ticks; /* ticks of its file: trc_ticks_to_ns */
    enum trc_stack_reason reason;
    uint32_t flags;          /* enum trc_stack_flag */
    char state;              /* R S D T Z, '?' unknown */
    int32_t signal;          /* the fatal one, or the one that it handles and caused itself; 0 none */
    int32_t call;            /* number of the system call it is in; -1 */
    bool left;               /* later a thread of a library made the process exit */
    const char *name;        /* name of the thread */
    const char *on;          /* "read() on /data/shard-17", "futex", "running"; "" unknown */
    const char *call_inside; /* the recorded MPI call it was inside when the file was last looked at; NULL none */
    const struct ana_frame *python; /* innermost first */
    size_t python_count;
    const struct ana_frame *native;
    size_t native_count;
};

/* One process's snapshot. */
struct ana_snapshot {
    size_t index;
    uint32_t number;
    enum trc_stack_reason reason;
    bool complete;       /* closing record is there */
    uint64_t ticks;      /* time of its completion, else of its last record */
    uint64_t request_ns; /* DEMAND: which request it answers */
    const char *why;     /* reason for taking it; "" unknown */
    size_t first, count; /* range in ana_stacks.stack, the main thread first */
    uint32_t threads;    /* threads of the process then; 0 unknown */
};

struct ana_stacks {
    struct ana_budget budget;      /* memory of parsed records */
    struct ana_snapshot *snapshot; /* sorted by index; ranks without a snapshot are missing */
    size_t snapshots;
    struct ana_stack *stack;
    size_t count;
    void *owned; /* text and frames */
};

/* Reads the newest complete snapshot of every rank, an incomplete one where there is no other.  One of the process's
 * end counts as the newest whatever follows, unless a thread of a library made it exit, as when the launcher is gone.
 * False: out of memory; *out is then empty.  Free with ana_stacks_free. */
bool ana_stacks_read(const struct ana_job *job, struct ana_stacks *out);
/* Reads all snapshots of one file, oldest first; `index` is written into them.  False: out of memory; *out is then
 * empty. */
bool ana_stacks_of_file(const struct trc_file *file, size_t index, struct ana_stacks *out);
/* Drops the stack that stands for a process, which tells of an earlier time. */
void ana_stacks_forget(struct ana_stacks *stacks, size_t index);
/* Makes the stack of a thread stand for its process (ana_stack_of); nothing changes where that thread has none. */
void ana_stacks_choose(struct ana_stacks *stacks, size_t index, uint32_t tid);
/* Frees them with their text and frames; the struct is the caller's. */
void ana_stacks_free(struct ana_stacks *stacks);

/* Returns the stack of rank `index`: its main thread's, or the one of the thread that crashed or called exit.  NULL:
 * there is none. */
const struct ana_stack *ana_stack_of(const struct ana_stacks *stacks, size_t index);

/* The frame that says most; NULL if there is none.  The innermost Python frame of the user's own code (not of an
 * installed package), else any Python frame; else the innermost native frame outside libc, the MPI library and the
 * loader; else the innermost. */
const struct ana_frame *ana_stack_place(const struct ana_stack *stack);
/* Whether the place is in a function that a call of MPI has called: a callback, or an operation of the program.  Of one
 * that runs in a library it is not known: the MPI library polls in others. */
bool ana_stack_in_callback(const struct ana_stack *stack);

/* Whether all its frames are of libc, the MPI library and what that uses: a thread of theirs. */
bool ana_stack_is_library(const struct ana_stack *stack);

/* Whether a thread runs functions of the program, or Python: not one that a library made for itself. */
bool ana_stack_is_own(const struct ana_stack *stack);

/* Whether the innermost frame of the program has called the MPI library or what that uses, not libc itself. */
bool ana_stack_is_called_by_library(const struct ana_stack *stack);

/* Writes one line about where a thread is: "train.py:57 in load_batch <- read() on /data/shard-17 (blocked, file)",
 * "train.py:63 in step -> synchronize (mpi_ops.py) <- futex (blocked)". */
void ana_stack_line(const struct ana_stack *stack, char *out, size_t size);
/* Writes that line with other words for the frame; NULL: its own. */
void ana_stack_line_at(const struct ana_stack *stack, const char *at, char *out, size_t size);
/* Writes one frame: "train.py:57 in load_batch", "MPI_Recv (libmpi.so.40)". */
void ana_frame_line(const struct ana_frame *frame, char *out, size_t size);
/* Writes it with its source line, of a native frame of rank `index` outside libc, the MPI library and what that uses:
 * "app.c:57 in main"; else as above. */
void ana_frame_words(const struct ana_job *job, size_t index, const struct ana_frame *frame, char *out, size_t size);

/* Ranks whose main (or crashed) thread has an equal stack. */
struct ana_stack_group {
    size_t *member; /* indices into stacks->stack, by rank */
    size_t count;
    size_t shared; /* outermost frames (Python, else native) that it shares with the largest group */
};
/* Groups stacks: the smallest group first, equal ones by their first rank.  Returns how many; 0 also when out of memory
 * (*out NULL).  Free with ana_stack_groups_free. */
size_t ana_stacks_group(const struct ana_stacks *stacks, struct ana_stack_group **out);
/* Frees what ana_stacks_group returned. */
void ana_stack_groups_free(struct ana_stack_group *group, size_t count);

/* A node of the prefix tree of all stacks, which begins at the outermost frame and ends with the call that a program
 * makes of a library: below that it is chance where a thread is met that waits.  Groups here are of such stacks.  A
 * chain of frames with the same ranks is one node each at rising depth. */
struct ana_stack_node {
    unsigned depth;
    const struct ana_frame *frame; /* frame of one of the stacks */
    size_t group_count;            /* groups below and here */
    size_t ranks;                  /* stacks that go through this frame */
    size_t first;                  /* one of the stacks: index into stacks->stack */
    bool last;                     /* a stack ends here */
    bool one_place;                /* all are at the same place in it */
};
/* Makes that tree: children behind their parent, those with fewer ranks first.  Returns how many nodes; 0 also
 * when out of memory (*out NULL).  The caller frees *out with free(). */
size_t ana_stacks_tree(const struct ana_stacks *stacks, struct ana_stack_node **out);

#define ANA_DIVERGENCE_LINE 256
/* Writes the tree as lines, one where ranks diverge: the last frame that they share, indented by two columns for each
 * such frame above it: "7 ranks  train.py:63 in step".  Returns how many lines; 0 (*out NULL) where all are at one
 * place, or out of memory.  The caller frees *out with free(). */
size_t ana_stacks_divergence(const struct ana_job *job, const struct ana_stacks *stacks,
                             char (**out)[ANA_DIVERGENCE_LINE]);

/* All ranks of a group as in a sentence: "rank 7", "ranks 0-3 and 7". */
void ana_stack_group_ranks(const struct ana_job *job, const struct ana_stacks *stacks,
                           const struct ana_stack_group *group, char *out, size_t size);
