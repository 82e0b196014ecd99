/* Runs a program of the yardstick with real MPI: play PROGRAM FOLDER.  The program is what `yardstick -w SEED` writes.
 * Ends with 77 where this MPI lacks one of its calls. */
#include "tests/yardstick/real/play.h"

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define LONGEST_NS 300000000 /* length of a computation: it does not matter here */

struct comm comms[MOST_COMMS];
const char *scratch;
static struct thread threads[2];
static int ranks, actors;
static pthread_t second;
static pthread_mutex_t forked = PTHREAD_MUTEX_INITIALIZER;

static int number_of(const char *const *names, int n, const char *name)
{
    for (int i = 0; i < n; i++)
        if (strcmp(names[i], name) == 0)
            return i;
    return 0;
}

static void read_op(const char *line, int rank)
{
    static const char *const kinds[] = {
#define KIND(id, name) name,
#include "tests/yardstick/kinds.def"
#undef KIND
    };
    static const char *const calls[] = {
#define CALL(id, name, class) name,
#include "tests/yardstick/calls.def"
#undef CALL
    };
    int actor;
    char kind[32], call[64];
    struct op op;
    if (sscanf(line, "op %d %31s %63s %d %d %d %d %d %d %d %d %d %d %d %d %d %d %d %llx %lld", &actor, kind, call,
               &op.comm, &op.makes, &op.to, &op.from, &op.tag, &op.rtag, &op.bytes, &op.room, &op.root, &op.slot,
               &op.slots, &op.polls, &op.shared, &op.idle, &op.count, &op.group, &op.ns) != 20)
        exit(65);
    op.kind = (enum kind)number_of(kinds, KINDS, kind);
    op.call = (enum call)number_of(calls, CALLS, call);
    if (!has_call(op.call))
        exit(77);
    if (actor % ranks != rank)
        return;
    struct thread *t = &threads[actor / ranks];
    t->op[t->ops++] = op;
}

static void read_program(const char *path, int rank)
{
    FILE *f = fopen(path, "r");
    char line[1024];
    int made = 0;
    if (!f)
        exit(66);
    while (fgets(line, sizeof line, f)) {
        struct comm *c = &comms[made];
        int at = 0, more;
        sscanf(line, "ranks %d actors %d", &ranks, &actors);
        if (strncmp(line, "op ", 3) == 0)
            read_op(line, rank);
        if (sscanf(line, "comm %d %d %d %d%n", &c->kind, &c->size, &c->remote, &c->parent, &at) < 4)
            continue;
        for (int i = 0; i < c->size + c->remote; i++, at += more)
            sscanf(line + at, "%d%n", &c->member[i], &more);
        for (int i = 0; i < ranks; i++, at += more)
            sscanf(line + at, "%x%n", &c->from[i], &more);
        made++;
    }
    fclose(f);
}

int own_rank(const struct comm *c, int world)
{
    for (int i = 0; i < c->size + c->remote; i++)
        if (c->member[i] == world)
            return i < c->size ? i : i - c->size;
    return MPI_PROC_NULL;
}

int rank_in(const struct comm *c, int world)
{
    return world == ANY ? MPI_ANY_SOURCE : own_rank(c, world);
}

static int world_of(const struct comm *c, int me, int rank)
{
    bool far = false;
    for (int i = 0; i < c->size; i++)
        far |= c->remote && c->member[i] == me;
    return c->member[far ? c->size + rank : rank];
}

void note_status(struct thread *t, const struct op *op, const MPI_Status *status)
{
    t->reply_from = world_of(&comms[op->comm], t->rank, status->MPI_SOURCE);
    t->reply_tag = status->MPI_TAG;
}

void pause_ns(long long ns)
{
    struct timespec t = {ns / 1000000000, ns % 1000000000};
    if (ns >= 10000)
        nanosleep(&t, NULL);
}

static void compute(struct thread *t, const struct op *op)
{
    long long ns = op->ns < LONGEST_NS ? op->ns : LONGEST_NS;
    int flag;
    if (op->idle) {
        pause_ns(ns);
        return;
    }
    for (int i = 0; i <= op->count; i++) {
        pause_ns(ns / (op->count + 1));
        if (i == op->count || !t->active[op->slot])
            continue;
        MPI_Test(&t->request[op->slot], &flag, MPI_STATUS_IGNORE);
        t->active[op->slot] = !flag;
    }
}

static void play_send(struct thread *t, const struct op *op)
{
    const struct comm *c = &comms[op->comm];
    int to = rank_in(c, op->to == REPLY ? t->reply_from : op->to);
    switch (op->call) {
    case CALL_SSEND:
        MPI_Ssend(t->out, op->bytes, MPI_BYTE, to, op->tag, c->mpi);
        break;
    case CALL_BSEND:
        MPI_Bsend(t->out, op->bytes, MPI_BYTE, to, op->tag, c->mpi);
        break;
    case CALL_RSEND:
        MPI_Rsend(t->out, op->bytes, MPI_BYTE, to, op->tag, c->mpi);
        break;
    default:
        MPI_Send(t->out, op->bytes, MPI_BYTE, to, op->tag, c->mpi);
        break;
    }
}

static void play_recv(struct thread *t, const struct op *op)
{
    const struct comm *c = &comms[op->comm];
    MPI_Status status;
    int from = op->from == REPLY ? t->reply_from : op->from, tag = op->rtag == REPLY ? t->reply_tag : op->rtag;
    int room = op->room ? op->room : op->bytes;
    tag = tag == ANY ? MPI_ANY_TAG : tag;
    if (op->kind == OP_SENDRECV)
        MPI_Sendrecv(t->out, op->bytes, MPI_BYTE, rank_in(c, op->to), op->tag, t->in, room, MPI_BYTE, rank_in(c, from),
                     tag, c->mpi, &status);
    else
        MPI_Recv(t->in, room, MPI_BYTE, rank_in(c, from), tag, c->mpi, &status);
    note_status(t, op, &status);
}

static void play_started(struct thread *t, const struct op *op)
{
    const struct comm *c = &comms[op->comm];
    int to = rank_in(c, op->to), from = rank_in(c, op->from), room = op->room ? op->room : op->bytes;
    MPI_Request *q = &t->request[op->slot];
    char *at = t->slot[op->slot];
    for (int i = 0; i < op->slots && (op->kind == OP_START || op->kind == OP_ISEND || op->kind == OP_IRECV); i++)
        t->active[op->slot + i] = true;
    switch (op->call) {
    case CALL_ISEND:
        MPI_Isend(at, op->bytes, MPI_BYTE, to, op->tag, c->mpi, q);
        break;
    case CALL_ISSEND:
        MPI_Issend(at, op->bytes, MPI_BYTE, to, op->tag, c->mpi, q);
        break;
    case CALL_IRECV:
        MPI_Irecv(at, room, MPI_BYTE, from, op->rtag, c->mpi, q);
        break;
    case CALL_SEND_INIT:
        MPI_Send_init(at, op->bytes, MPI_BYTE, to, op->tag, c->mpi, q);
        break;
    case CALL_SSEND_INIT:
        MPI_Ssend_init(at, op->bytes, MPI_BYTE, to, op->tag, c->mpi, q);
        break;
    case CALL_RECV_INIT:
        MPI_Recv_init(at, room, MPI_BYTE, from, op->rtag, c->mpi, q);
        break;
    case CALL_START:
        MPI_Start(q);
        break;
    case CALL_STARTALL:
        MPI_Startall(op->slots, q);
        break;
    case CALL_REQUEST_FREE:
        MPI_Request_free(q);
        break;
    case CALL_CANCEL:
        MPI_Cancel(q);
        break;
    default:
        play_new(t, op);
        break;
    }
}

static void play_wait(struct thread *t, const struct op *op)
{
    MPI_Request *q = &t->request[op->slot];
    int n = op->slots, flag = 0, some = n, indices[MOST_SLOTS];
    for (int i = 0; i < n; i++)
        indices[i] = i;
    while (!flag) {
        switch (op->call) {
            /* clang-format off */
        case CALL_WAIT: flag = !MPI_Wait(q, MPI_STATUS_IGNORE); break;
        case CALL_WAITALL: flag = !MPI_Waitall(n, q, t->status); break;
        case CALL_WAITANY: flag = !MPI_Waitany(n, q, indices, MPI_STATUS_IGNORE); some = 1; break;
        case CALL_WAITSOME: flag = !MPI_Waitsome(n, q, &some, indices, t->status); break;
        case CALL_TEST: MPI_Test(q, &flag, MPI_STATUS_IGNORE); break;
        case CALL_TESTALL: MPI_Testall(n, q, &flag, t->status); break;
        case CALL_TESTANY: MPI_Testany(n, q, indices, &flag, MPI_STATUS_IGNORE); some = 1; break;
        default: MPI_Testsome(n, q, &some, indices, t->status); flag = some != 0; break;
            /* clang-format on */
        }
        if (!flag)
            pause_ns(op->ns);
    }
    for (int i = 0; i < some && some != MPI_UNDEFINED; i++)
        if (indices[i] != MPI_UNDEFINED)
            t->active[op->slot + indices[i]] = false;
}

static void play_probe(struct thread *t, const struct op *op)
{
    const struct comm *c = &comms[op->comm];
    int from = rank_in(c, op->from), tag = op->rtag == ANY ? MPI_ANY_TAG : op->rtag, flag = 0;
    MPI_Status status;
    while (!flag) {
        switch (op->call) {
        case CALL_PROBE:
            flag = !MPI_Probe(from, tag, c->mpi, &status);
            break;
        case CALL_IPROBE:
            MPI_Iprobe(from, tag, c->mpi, &flag, &status);
            break;
        case CALL_MPROBE:
            flag = !MPI_Mprobe(from, tag, c->mpi, &t->message, &status);
            break;
        default:
            MPI_Improbe(from, tag, c->mpi, &flag, &t->message, &status);
            break;
        }
        if (!flag)
            pause_ns(op->ns);
    }
    note_status(t, op, &status);
}

static bool is_active(const struct thread *t, const struct op *op)
{
    for (int i = 0; i < op->slots; i++)
        if (t->active[op->slot + i])
            return true;
    return false;
}

static void *play(void *thread);

static void play_process(struct thread *t, const struct op *op)
{
    int none;
    MPI_Request null = MPI_REQUEST_NULL;
    switch (op->kind) {
    case OP_VAIN:
        for (;; pause_ns(op->ns))
            MPI_Waitany(1, &null, &none, MPI_STATUS_IGNORE);
    case OP_FORK:
        pthread_mutex_unlock(&forked);
        break;
    case OP_FORKED:
        pthread_mutex_lock(&forked);
        break;
    case OP_JOIN:
        pthread_join(second, NULL);
        break;
    case OP_FINALIZE:
        MPI_Finalize();
        break;
    case OP_STUCK:
        for (;;)
            pause();
    case OP_EXIT:
        exit(3);
    case OP_KILLED:
        raise(SIGKILL);
        break;
    case OP_ABORT:
        MPI_Abort(MPI_COMM_WORLD, 1);
        break;
    default:
        compute(t, op);
        break;
    }
}

static void play_op(struct thread *t, const struct op *op)
{
    switch (op->kind) {
    case OP_SEND:
        play_send(t, op);
        break;
    case OP_RECV:
    case OP_SENDRECV:
        play_recv(t, op);
        break;
    case OP_ISEND:
    case OP_IRECV:
    case OP_SEND_INIT:
    case OP_RECV_INIT:
    case OP_COLL_INIT:
    case OP_START:
    case OP_PREADY:
    case OP_REQUEST_FREE:
    case OP_CANCEL:
        play_started(t, op);
        break;
    case OP_WAIT:
        play_wait(t, op);
        break;
    case OP_PROBE:
    case OP_MPROBE:
        play_probe(t, op);
        break;
    case OP_MRECV:
        MPI_Mrecv(t->in, MOST_BYTES, MPI_BYTE, &t->message, MPI_STATUS_IGNORE);
        break;
    case OP_IMRECV:
        MPI_Imrecv(t->slot[op->slot], MOST_BYTES, MPI_BYTE, &t->message, &t->request[op->slot]);
        break;
    case OP_COLL:
    case OP_ICOLL:
        play_collective(t, op);
        break;
    case OP_LOCK:
    case OP_UNLOCK:
    case OP_FLUSH:
    case OP_MOVE:
    case OP_POST:
    case OP_OPEN:
    case OP_COMPLETE:
    case OP_CLOSE:
    case OP_WRITE:
    case OP_SPIN:
        play_window(t, op);
        break;
    default:
        play_process(t, op);
        break;
    }
}

static void *play(void *thread)
{
    struct thread *t = thread;
    while (t->next < t->ops) {
        const struct op *op = &t->op[t->next];
        if (op->kind == OP_LOOP) {
            bool again = op->tag != NOBODY ? t->reply_tag != op->tag : is_active(t, op);
            t->next += again ? -op->count : 1;
            continue;
        }
        bool left_out = op->kind == OP_SEND && op->count && ++t->runs[t->next] == op->count;
        if (!left_out)
            play_op(t, op);
        t->next++;
    }
    return NULL;
}

int main(int argc, char **argv)
{
    int level, rank, size;
    static char attached[16 * MOST_BYTES];
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (argc != 3)
        return 64;
    scratch = argv[2];
    comms[0].mpi = MPI_COMM_WORLD;
    pthread_mutex_lock(&forked);
    read_program(argv[1], rank);
    if (ranks != size || (actors > ranks && level < MPI_THREAD_MULTIPLE))
        return 77;
    for (int i = 0; i < 2; i++) {
        threads[i].rank = rank;
        threads[i].out = calloc(MOST_RANKS, MOST_BYTES);
        threads[i].in = calloc(MOST_RANKS, MOST_BYTES);
        for (int s = 0; s < MOST_SLOTS; s++) {
            threads[i].slot[s] = calloc(2 * MOST_RANKS, MOST_BYTES);
            threads[i].request[s] = MPI_REQUEST_NULL;
        }
    }
    MPI_Buffer_attach(attached, sizeof attached);
    if (actors > ranks)
        pthread_create(&second, NULL, play, &threads[1]);
    play(&threads[0]);
    return 0;
}
