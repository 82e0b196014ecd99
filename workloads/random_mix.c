/* random_mix [seed] [steps] [threads] [rank] [step]: a program that a seed has written.
 *
 * Messages of all kinds among random ranks of random communicators, collectives, blocking or not, whose requests stay
 * under way over many steps and are completed in any order by any Wait or Test, with and without statuses.  With
 * threads each thread is such a program, on a copy of the world of its own; then no more communicators are made.  A
 * rank that is named stands still, outside MPI, from that step on.
 *
 * Truth: every rank draws the same program, so rank 0 knows what each rank calls.  How often the loops of completion
 * calls turn is chance: each rank counts them (LOOPS long) and rank 0 gathers the counts. */
#include "truth.h"
#include <mpi.h>
#include <pthread.h>
#include <unistd.h>

#define MOST_THREADS 8
#define MOST_RANKS   16
#define COMMS        6  /* requests at a time */
#define POOL         96 /* requests under way */
#define BIG          100000

enum { WAIT, WAITALL, WAITANY, WAITSOME, TEST, TESTALL, TESTANY, TESTSOME, MPROBE, LOOPS };
static const char *const loop_name[LOOPS] = {"MPI_Wait",    "MPI_Waitall", "MPI_Waitany",  "MPI_Waitsome", "MPI_Test",
                                             "MPI_Testall", "MPI_Testany", "MPI_Testsome", "MPI_Mprobe"};
static _Thread_local long turns[LOOPS];
static int me, n, seed, steps, threads, stop_rank, stop_step;

/* A communicator as all ranks know it; `comm` only where `mine` >= 0.  The first is a copy of the world, the second one
 * more, where all receives are wildcards. */
static _Thread_local struct group {
    MPI_Comm comm;
    int size, mine, world[MOST_RANKS];
} group[COMMS];
static _Thread_local int groups;

static _Thread_local MPI_Request pool[POOL];
static _Thread_local char *out[POOL], *in[POOL];
static _Thread_local int pending;
static MPI_Datatype pairs_of_ints; /* 8 bytes in 12 */

/* truth.h is not made for threads. */
static pthread_mutex_t stating = PTHREAD_MUTEX_INITIALIZER;
#define STATE(truth)                                                                                                   \
    do {                                                                                                               \
        pthread_mutex_lock(&stating);                                                                                  \
        truth;                                                                                                         \
        pthread_mutex_unlock(&stating);                                                                                \
    } while (0)

/* Two streams of numbers: one that all ranks draw alike, one of this rank's own. */
static _Thread_local unsigned long long alike, own;
static int draw(unsigned long long *state, int below)
{
    *state = *state * 6364136223846793005ull + 1442695040888963407ull;
    return (int)((*state >> 33) % (unsigned)below);
}

/* ---- completion ---- */

static void drop_completed(void)
{
    int kept = 0;
    for (int i = 0; i < pending; i++)
        if (pool[i] != MPI_REQUEST_NULL) {
            MPI_Request request = pool[i];
            char *o = out[i], *b = in[i];
            pool[i] = pool[kept];
            out[i] = out[kept];
            in[i] = in[kept];
            pool[kept] = request;
            out[kept] = o;
            in[kept++] = b;
        }
    pending = kept;
}

/* Completes some open requests, or all. */
static void complete(int all)
{
    MPI_Status statuses[POOL];
    int indices[POOL], done = 0, index;
    while (pending && (all || draw(&own, 4))) {
        int some = all && !draw(&own, 4) ? pending : 1 + draw(&own, pending), kind = draw(&own, MPROBE);
        int ignore = draw(&own, 2);
        MPI_Status *many = ignore ? MPI_STATUSES_IGNORE : statuses, *one = ignore ? MPI_STATUS_IGNORE : statuses;
        if (kind <= WAITSOME && !all)
            kind += TEST; /* another rank may need more of our calls first */
        turns[kind]++;
        switch (kind) {
        case WAIT:
            MPI_Wait(&pool[some - 1], one);
            break;
        case WAITALL:
            MPI_Waitall(some, pool, many);
            break;
        case WAITANY:
            MPI_Waitany(some, pool, &index, one);
            break;
        case WAITSOME:
            MPI_Waitsome(some, pool, &done, indices, many);
            break;
        case TEST:
            MPI_Test(&pool[some - 1], &done, one);
            break;
        case TESTALL:
            MPI_Testall(some, pool, &done, many);
            break;
        case TESTANY:
            MPI_Testany(some, pool, &index, &done, one);
            break;
        default:
            MPI_Testsome(some, pool, &done, indices, many);
        }
        drop_completed();
    }
}

/* The buffers of one more request. */
static MPI_Request *add(char **to_send, char **to_receive)
{
    *to_send = out[pending];
    *to_receive = in[pending];
    return &pool[pending++];
}
static void make_room(int needed)
{
    if (pending + needed > POOL)
        complete(1);
}

/* ---- steps; each is drawn by all ranks, and stated for all ---- */

enum { BYTES, INTS, VECTOR };
static MPI_Datatype type_of(int kind)
{
    return kind == VECTOR ? pairs_of_ints : kind == INTS ? MPI_INT : MPI_CHAR;
}
static const int bytes_of[] = {1, 4, 8};

/* Up to 12 messages at once, each kind of receive under a tag of its own. */
static void messages(int step)
{
    static const char *const send_name[] = {"MPI_Isend", "MPI_Issend"};
    static const char *const receive_name[] = {"MPI_Irecv", "MPI_Mrecv", "MPI_Imrecv"};
    int any = draw(&alike, 2), which = draw(&alike, groups), count = 1 + draw(&alike, 12);
    struct group *g = &group[which];
    struct {
        int from, to, send, receive, kind, count;
    } message[12];
    for (int i = 0; i < count; i++) {
        int kind = draw(&alike, 3), most = draw(&alike, 8) ? 4000 : BIG;
        message[i].from = draw(&alike, g->size);
        message[i].to = draw(&alike, g->size);
        message[i].send = draw(&alike, 2);
        message[i].receive = which == 1 ? 0 : draw(&alike, 3);
        message[i].kind = kind;
        message[i].count = draw(&alike, most / bytes_of[kind] / 2);
        STATE(truth_message(g->world[message[i].from], send_name[message[i].send], g->world[message[i].to],
                            receive_name[message[i].receive], 1, (long long)message[i].count * bytes_of[kind]));
    }
    if (which == 1)
        STATE(truth_each(n, "MPI_Barrier", 1, 0, 0));
    if (g->mine < 0)
        return;
    make_room(24);
    char *give, *take;
    for (int i = 0; i < count; i++)
        if (message[i].to == g->mine && message[i].receive == 0) {
            int wild = which == 1;
            MPI_Request *request = add(&give, &take);
            MPI_Irecv(take, BIG, MPI_CHAR, any || wild ? MPI_ANY_SOURCE : message[i].from,
                      wild ? MPI_ANY_TAG : 4 * step, g->comm, request);
        }
    for (int i = 0; i < count; i++)
        if (message[i].from == g->mine) {
            MPI_Request *request = add(&give, &take);
            int (*send)(const void *, int, MPI_Datatype, int, int, MPI_Comm, MPI_Request *) =
                message[i].send ? MPI_Issend : MPI_Isend;
            send(give, message[i].count, type_of(message[i].kind), message[i].to, 4 * step + message[i].receive,
                 g->comm, request);
        }
    for (int i = 0; i < count; i++)
        if (message[i].to == g->mine && message[i].receive > 0) {
            MPI_Message handle;
            MPI_Request *request = add(&give, &take);
            turns[MPROBE]++;
            MPI_Mprobe(MPI_ANY_SOURCE, 4 * step + message[i].receive, g->comm, &handle, MPI_STATUS_IGNORE);
            if (message[i].receive == 1) {
                MPI_Mrecv(take, BIG, MPI_CHAR, &handle, MPI_STATUS_IGNORE);
                *request = MPI_REQUEST_NULL;
                drop_completed();
            } else {
                MPI_Imrecv(take, BIG, MPI_CHAR, &handle, request);
            }
        }
    if (which == 1) { /* a message of a later step may take the receive of an earlier one */
        complete(1);
        MPI_Barrier(g->comm);
    }
}

/* A shift around the communicator that begins and ends at nobody, or goes round. */
static void shift(int step)
{
    struct group *g = &group[draw(&alike, groups)];
    int by = 1 + draw(&alike, g->size), round = draw(&alike, 2), bytes = draw(&alike, 3000);
    if (g == &group[1]) /* receives are wildcards */
        g = &group[0];
    for (int r = 0; r < g->size; r++) {
        int to = r + by < g->size || round ? (r + by) % g->size : -1;
        STATE(truth_call(g->world[r], "MPI_Sendrecv", 1, to < 0 ? 0 : bytes, 0));
        if (to >= 0) {
            STATE(truth_call(g->world[to], "MPI_Sendrecv", 0, 0, bytes));
            STATE(truth_pair(g->world[r], g->world[to], 1, bytes));
        }
    }
    if (g->mine < 0)
        return;
    int to = g->mine + by < g->size || round ? (g->mine + by) % g->size : MPI_PROC_NULL;
    int back = g->mine - by + g->size, from = g->mine >= by || round ? (back + g->size) % g->size : MPI_PROC_NULL;
    static _Thread_local char give[3000], take[3000];
    MPI_Status status;
    MPI_Sendrecv(give, bytes, MPI_CHAR, to, 4 * step + 3, take, 3000, MPI_CHAR, from, 4 * step + 3, g->comm,
                 draw(&own, 2) ? &status : MPI_STATUS_IGNORE);
}

enum { BARRIER, BCAST, REDUCE, ALLREDUCE, GATHER, SCATTER, ALLGATHER, ALLTOALL, SCAN, EXSCAN, KINDS };

/* The truth about one collective of c integers. */
static void count_collective(const struct group *g, int kind, int later, int root, int c)
{
    static const char *const names[KINDS][2] = {
        {"MPI_Barrier", "MPI_Ibarrier"},     {"MPI_Bcast", "MPI_Ibcast"},       {"MPI_Reduce", "MPI_Ireduce"},
        {"MPI_Allreduce", "MPI_Iallreduce"}, {"MPI_Gather", "MPI_Igather"},     {"MPI_Scatter", "MPI_Iscatter"},
        {"MPI_Allgather", "MPI_Iallgather"}, {"MPI_Alltoall", "MPI_Ialltoall"}, {"MPI_Scan", "MPI_Iscan"},
        {"MPI_Exscan", "MPI_Iexscan"}};
    for (int r = 0; r < g->size; r++) {
        long long sent = 4ll * c, got = 4ll * c;
        if (kind == BARRIER)
            sent = got = 0;
        if (kind == BCAST) {
            sent = r == root ? sent : 0;
            got = r == root ? 0 : got;
        }
        if (kind == SCATTER)
            sent = r == root ? sent * g->size : 0;
        if (kind == REDUCE || kind == GATHER)
            got = r == root ? got * (kind == GATHER ? g->size : 1) : 0;
        if (kind == ALLTOALL)
            sent *= g->size;
        if (kind == ALLGATHER || kind == ALLTOALL)
            got *= g->size;
        if (kind == EXSCAN && r == 0)
            got = 0;
        STATE(truth_call(g->world[r], names[kind][later], 1, sent, got));
    }
}

static void collective(void)
{
    struct group *g = &group[draw(&alike, groups)];
    int kind = draw(&alike, KINDS), later = draw(&alike, 2), root = draw(&alike, g->size), c = draw(&alike, 300);
    count_collective(g, kind, later, root, c);
    if (g->mine < 0)
        return;
    make_room(1);
    char *a, *b;
    MPI_Request *q = add(&a, &b);
    MPI_Comm m = g->comm;
    *q = MPI_REQUEST_NULL;
#define UPPER(Name, name, ...) (later ? MPI_I##name(__VA_ARGS__, m, q) : MPI_##Name(__VA_ARGS__, m))
    switch (kind) {
    case BARRIER:
        later ? MPI_Ibarrier(m, q) : MPI_Barrier(m);
        break;
    case BCAST:
        UPPER(Bcast, bcast, b, c, MPI_INT, root);
        break;
    case REDUCE:
        UPPER(Reduce, reduce, a, b, c, MPI_INT, MPI_SUM, root);
        break;
    case ALLREDUCE:
        UPPER(Allreduce, allreduce, a, b, c, MPI_INT, MPI_SUM);
        break;
    case GATHER:
        UPPER(Gather, gather, a, c, MPI_INT, b, c, MPI_INT, root);
        break;
    case SCATTER:
        UPPER(Scatter, scatter, a, c, MPI_INT, b, c, MPI_INT, root);
        break;
    case ALLGATHER:
        UPPER(Allgather, allgather, a, c, MPI_INT, b, c, MPI_INT);
        break;
    case ALLTOALL:
        UPPER(Alltoall, alltoall, a, c, MPI_INT, b, c, MPI_INT);
        break;
    case SCAN:
        UPPER(Scan, scan, a, b, c, MPI_INT, MPI_SUM);
        break;
    default:
        UPPER(Exscan, exscan, a, b, c, MPI_INT, MPI_SUM);
    }
    drop_completed();
}

/* Ends a communicator and makes another: a copy, or a part with the ranks in an order of its own. */
static void communicator(void)
{
    struct group *of = &group[draw(&alike, groups)];
    if (groups == COMMS) {
        struct group *old = &group[2 + draw(&alike, COMMS - 2)];
        for (int r = 0; r < old->size; r++)
            STATE(truth_call(old->world[r], "MPI_Comm_free", 1, 0, 0));
        if (old->mine >= 0) {
            complete(1);
            MPI_Comm_free(&old->comm);
        }
        if (of == old)
            of = &group[0];
        struct group *last = &group[--groups];
        of = of == last ? old : of;
        *old = *last;
    }
    struct group *made = &group[groups];
    int split = groups > 1 && draw(&alike, 3), colours[MOST_RANKS], keys[MOST_RANKS];
    for (int r = 0; r < of->size; r++) {
        colours[r] = draw(&alike, 3);
        keys[r] = draw(&alike, 2);
        STATE(truth_call(of->world[r], split ? "MPI_Comm_split" : "MPI_Comm_dup", 1, 0, 0));
    }
    int kept = draw(&alike, of->size), ours = of->mine >= 0 && (!split || colours[of->mine] == colours[kept]);
    MPI_Comm fresh = MPI_COMM_NULL;
    if (of->mine >= 0 && split)
        MPI_Comm_split(of->comm, ours ? colours[of->mine] : MPI_UNDEFINED, keys[of->mine], &fresh);
    else if (of->mine >= 0)
        MPI_Comm_dup(of->comm, &fresh);
    made->comm = fresh;
    made->size = 0;
    made->mine = -1;
    for (int key = 0; key < 2; key++) /* MPI orders by key, then by rank */
        for (int r = 0; r < of->size; r++)
            if (!split ? key == 0 : colours[r] == colours[kept] && keys[r] == key) {
                if (of->world[r] == me)
                    made->mine = made->size;
                made->world[made->size++] = of->world[r];
            }
    groups++;
}

/* One message each way between two ranks, sent a few times by requests that are made once. */
static void persistent(int step)
{
    int a = draw(&alike, n), b = draw(&alike, n), bytes = draw(&alike, 5000), times = 1 + draw(&alike, 5);
    int together = draw(&alike, 2);
    for (int side = 0; side < 2 && a != b; side++) {
        int here = side ? b : a, there = side ? a : b;
        STATE(truth_call(here, "MPI_Send_init", 1, (long long)times * bytes, 0));
        STATE(truth_call(here, "MPI_Recv_init", 1, 0, (long long)times * bytes));
        STATE(truth_call(here, together ? "MPI_Startall" : "MPI_Start", together ? times : 2 * times, 0, 0));
        STATE(truth_call(here, "MPI_Request_free", 2, 0, 0));
        STATE(truth_pair(here, there, times, bytes));
    }
    if (a == b || (me != a && me != b))
        return;
    static _Thread_local char give[5000], take[5000];
    int other = me == a ? b : a;
    MPI_Request r[2];
    MPI_Recv_init(take, 5000, MPI_CHAR, draw(&own, 2) ? other : MPI_ANY_SOURCE, 4 * step, group[0].comm, &r[0]);
    MPI_Send_init(give, bytes, MPI_CHAR, other, 4 * step, group[0].comm, &r[1]);
    for (int i = 0; i < times; i++) {
        if (together) {
            MPI_Startall(2, r);
        } else {
            MPI_Start(&r[0]);
            MPI_Start(&r[1]);
        }
        turns[WAITALL]++;
        MPI_Waitall(2, r, MPI_STATUSES_IGNORE);
    }
    MPI_Request_free(&r[0]);
    MPI_Request_free(&r[1]);
}

/* One program, drawn from the seed, on two copies of the world.  Leaves nothing under way. */
static long totals[LOOPS];
static MPI_Comm worlds[MOST_THREADS][2];

static void *play(void *number)
{
    int thread = (int)(long)number;
    alike = (unsigned long long)seed * 7919 + 1 + 15485863ull * (unsigned)thread;
    own = alike + 104729ull * (unsigned)(me + 1);
    for (int i = 0; i < POOL; i++) {
        out[i] = calloc(2, BIG);
        in[i] = calloc(2, BIG);
    }
    for (groups = 0; groups < 2; groups++) {
        struct group *g = &group[groups];
        *g = (struct group){.comm = worlds[thread][groups], .size = n, .mine = me};
        for (int r = 0; r < n; r++)
            g->world[r] = r;
    }
    for (int step = 1; step <= steps; step++) {
        while (step == stop_step && me == stop_rank)
            pause();
        switch (draw(&alike, 8)) {
        case 0:
            shift(step);
            break;
        case 1:
        case 2:
            collective();
            break;
        case 3:
            threads > 1 ? collective() : communicator();
            break;
        case 4:
            persistent(step);
            break;
        default:
            messages(step);
        }
        complete(0);
    }
    complete(1);
    for (int i = 0; i < LOOPS; i++)
        STATE(totals[i] += turns[i]);
    return NULL;
}

static void play_all(void)
{
    pthread_t other[MOST_THREADS];
    for (long t = 1; t < threads; t++)
        if (pthread_create(&other[t], NULL, play, (void *)t))
            MPI_Abort(MPI_COMM_WORLD, 99);
    play(NULL);
    for (int t = 1; t < threads; t++)
        pthread_join(other[t], NULL);
}

static int number(int argc, char **argv, int at, int otherwise, int most)
{
    int given = argc > at ? atoi(argv[at]) : otherwise;
    return given < 1 ? 1 : given > most ? most : given;
}

int main(int argc, char **argv)
{
    int bad = 0, level;
    seed = number(argc, argv, 1, 1, 1 << 30);
    steps = number(argc, argv, 2, 400, 8000); /* four tags a step; every MPI has 32768 */
    threads = number(argc, argv, 3, 1, MOST_THREADS);
    stop_rank = argc > 5 ? atoi(argv[4]) : -1;
    stop_step = argc > 5 ? atoi(argv[5]) : 0;
    MPI_Init_thread(&argc, &argv, threads > 1 ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE, &level);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Comm_size(MPI_COMM_WORLD, &n);
    if (n > MOST_RANKS || (threads > 1 && level < MPI_THREAD_MULTIPLE))
        MPI_Abort(MPI_COMM_WORLD, 77);
    MPI_Type_vector(2, 1, 2, MPI_INT, &pairs_of_ints);
    MPI_Type_commit(&pairs_of_ints);
    for (int t = 0; t < threads; t++)
        for (int i = 0; i < 2; i++)
            MPI_Comm_dup(MPI_COMM_WORLD, &worlds[t][i]);
    play_all();
    MPI_Type_free(&pairs_of_ints);
    long *all = calloc((size_t)n * LOOPS, sizeof *all);
    MPI_Gather(totals, LOOPS, MPI_LONG, all, LOOPS, MPI_LONG, 0, MPI_COMM_WORLD);
    static const char *const once[] = {"MPI_Init_thread", "MPI_Comm_rank", "MPI_Comm_size", "MPI_Type_vector",
                                       "MPI_Type_commit", "MPI_Type_free", "MPI_Finalize"};
    for (size_t i = 0; i < sizeof once / sizeof *once; i++)
        truth_each(n, once[i], 1, 0, 0);
    truth_each(n, "MPI_Comm_dup", 2 * threads, 0, 0);
    for (int r = 0; r < n && me == 0; r++) {
        long long mine = LOOPS * (long long)sizeof(long);
        for (int i = 0; i < LOOPS; i++)
            truth_call(r, loop_name[i], all[r * LOOPS + i], 0, 0);
        truth_call(r, "MPI_Gather", 1, mine, r == 0 ? n * mine : 0);
    }
    if (me == 0)
        bad = truth_write(n);
    MPI_Finalize();
    return bad;
}
