/* Shared parts of the simulator. */
#ifndef YARDSTICK_SIMULATE_H
#define YARDSTICK_SIMULATE_H

#include "tests/yardstick/program.h"

enum { MOST_MESSAGES = 16384, MOST_POSTED = 1024, MOST_INSTANCES = 300, MOST_LOCKS = 1024, MOST_EPOCHS = 1024 };

struct message {
    int from, to, tag, comm;
    uint64_t bytes;
    bool waits, claimed;
    int parts;                  /* parts that it still lacks */
    int64_t sent, ready, taken; /* ready: when all parts were there; taken NEVER: nobody has received it */
};

struct posted { /* a receive */
    int from, tag, comm;
    uint64_t room;
    int64_t at;
    int message; /* -1: none yet */
    bool cancelled;
};

struct instance { /* the k-th collective on its communicator */
    enum call call;
    int root, entered;
    bool differs, waits;
    int64_t at[MOST_RANKS], last; /* arrival of a member, NEVER; the last arrival */
};

enum request_kind { REQUEST_NONE, REQUEST_SEND, REQUEST_RECV, REQUEST_COLL };
struct request {
    enum request_kind kind;
    bool active, persistent;
    const struct op *op; /* operation that made it */
    int of;              /* message, receive, or instance */
    int comm;            /* communicator of a collective: whose instance */
};

struct thread {
    int next; /* operation */
    bool entered, gone;
    int64_t clock;
    int sent, mine; /* state of the present operation: its message; its receive, instance, lock or epoch */
    int reply_from, reply_tag;
    int runs[MOST_OPS]; /* executions of operations that count */
    int claimed;        /* message */
    struct request request[MOST_SLOTS];
};

struct rank {
    int posted_n, collectives[MOST_COMMS];
    struct posted posted[MOST_POSTED];
};

struct lock {
    int comm, target, rank;
    bool shared;
    int64_t asked, got, released; /* NEVER */
};

struct epoch { /* signals between ranks: MPI_Win_post, MPI_Win_complete */
    int comm, from, to;
    bool complete;
    int64_t at;
};

struct sim {
    const struct program *p;
    struct run *run;
    const int64_t *killed;
    struct thread thread[MOST_ACTORS];
    struct rank rank[MOST_RANKS];
    int messages, instances[MOST_COMMS], locks, epochs;
    struct message message[MOST_MESSAGES];
    struct instance instance[MOST_COMMS][MOST_INSTANCES];
    struct lock lock[MOST_LOCKS];
    struct epoch epoch[MOST_EPOCHS];
    int64_t finalize[MOST_RANKS], forked[MOST_RANKS], joined[MOST_RANKS], flag[256];
};
extern struct sim sim;

static inline int64_t later(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* sim_messages.c */
/* Posts a receive; returns its number among the rank's receives. */
int sim_post(int rank, const struct op *op, int from, int tag, int64_t at);
/* Sends; returns the message. */
int sim_deposit(int rank, const struct op *op, int to, int64_t at);
/* Time at which a send is complete, or a receive; NEVER: not yet. */
int64_t sim_sent_at(int message);
int64_t sim_received_at(int rank, int recv);
/* The first message that fits, which nobody has taken; -1: none. */
int sim_waiting(int rank, const struct op *op);

/* sim_collectives.c */
/* Enters the next collective of a communicator; returns its number. */
int sim_enter(int rank, int comm, const struct op *op, int64_t at);
int64_t sim_collective_at(int rank, int comm, int k);

/* sim_windows.c */
void sim_ask_lock(int rank, const struct op *op, int64_t at);
/* Time at which the newest lock of the rank at this target is granted; NEVER: not yet. */
int64_t sim_locked_at(int rank, const struct op *op);
void sim_unlock(int rank, const struct op *op, int64_t at);
void sim_tell(int rank, const struct op *op, bool complete, int64_t at);
/* Time at which all of the group have signalled this rank; consumes the signals if `take`. */
int64_t sim_told_at(int rank, const struct op *op, bool complete, bool take);

/* sim_requests.c */
void sim_start_request(struct thread *t, int rank, const struct op *op, int64_t at, struct done *done);
/* Time at which a wait is complete; NEVER: not yet. */
int64_t sim_waited_at(const struct thread *t, int rank, const struct op *op, int64_t begin);
/* Ends the requests that are complete at `at`. */
void sim_end_requests(struct thread *t, int rank, const struct op *op, int64_t at, struct done *done);

#endif
