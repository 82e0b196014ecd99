/* Shared parts of play: a program of the yardstick, as it is read from a file, and the state of a thread. */
#ifndef YARDSTICK_PLAY_H
#define YARDSTICK_PLAY_H

#include <mpi.h>
#include <stdbool.h>
#include <stdint.h>

enum { MOST_RANKS = 16, MOST_OPS = 400, MOST_COMMS = 24, MOST_SLOTS = 16, NOBODY = -1, ANY = -2, REPLY = -3 };
enum { MOST_BYTES = 1 << 17 }; /* most bytes of a message */

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

struct op {
    enum kind kind;
    enum call call;
    int comm, makes, to, from, tag, rtag, bytes, room, root, slot, slots, polls, shared, idle, count;
    unsigned long long group;
    long long ns;
};

enum comm_kind { COMM_PLAIN, COMM_NEIGHBOURS, COMM_INTER, COMM_WINDOW, COMM_FILE };
struct comm {
    int kind, size, remote, parent, member[MOST_RANKS];
    unsigned from[MOST_RANKS]; /* world ranks that a world rank gets from */
    MPI_Comm mpi;
    MPI_Win window;
    MPI_File file;
};

struct thread {
    int rank, ops, next, reply_from, reply_tag, runs[MOST_OPS], parts[MOST_SLOTS];
    struct op op[MOST_OPS];
    MPI_Request request[MOST_SLOTS];
    bool active[MOST_SLOTS];
    MPI_Status status[MOST_SLOTS];
    MPI_Message message;
    char *out, *in, *slot[MOST_SLOTS]; /* buffers */
};

extern struct comm comms[MOST_COMMS];
extern const char *scratch; /* a folder for files */

/* The rank that a world rank has in a communicator; in the other group, of an intercommunicator. */
int rank_in(const struct comm *c, int world);
/* Rank of its own in it. */
int own_rank(const struct comm *c, int world);
/* Notes who sent, and with which tag. */
void note_status(struct thread *t, const struct op *op, const MPI_Status *status);
/* Between two polls. */
void pause_ns(long long ns);

/* play_more.c */
void play_collective(struct thread *t, const struct op *op);
void play_window(struct thread *t, const struct op *op);
/* Whether this MPI has the call. */
bool has_call(enum call call);
/* Calls that only some MPIs have. */
void play_new(struct thread *t, const struct op *op);

#endif
