/* doubling MODE..: does each mode 4N, N, 2N and 4N times, on one rank, and lets callgrind write its counts after
 * each ("MODE times") but the first, which warms up. */
#include <mpi.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <valgrind/callgrind.h>

static MPI_Comm self = MPI_COMM_SELF;

static void *get(size_t n, size_t bytes)
{
    void *memory = calloc(n, bytes);
    if (!memory)
        abort();
    return memory;
}

/* ---- requests.  An order of completion: the index of the request that is completed as number `i`. */
typedef int (*order)(int i, int n);
static int forward(int i, int n)
{
    (void)n;
    return i;
}
static int reverse(int i, int n)
{
    return n - 1 - i;
}
static int scattered(int i, int n)
{
    return (int)((long)i * 7919 % n); /* a prime that divides no n: each index once */
}

static void wait_each(MPI_Request *requests, int n, order index)
{
    for (int i = 0; i < n; i++)
        MPI_Wait(&requests[index(i, n)], MPI_STATUS_IGNORE);
}

static void start_sends(MPI_Request *requests, int n, int partner)
{
    for (int i = 0; i < n; i++)
        MPI_Isend(NULL, 0, MPI_CHAR, partner, 1, self, &requests[i]);
}

/* Starts that share one handle, under Open MPI: to nobody. */
static void shared(int n, order index)
{
    MPI_Request *requests = get((size_t)n, sizeof *requests);
    start_sends(requests, n, MPI_PROC_NULL);
    wait_each(requests, n, index);
    free(requests);
}
static void shared_forward(int n)
{
    shared(n, forward);
}
static void shared_reverse(int n)
{
    shared(n, reverse);
}
static void shared_scattered(int n)
{
    shared(n, scattered);
}

/* Each request is far from the next. */
static void shared_apart(int n)
{
    struct {
        MPI_Request request;
        char more[4096 - sizeof(MPI_Request)];
    } *requests = get((size_t)n, sizeof *requests);
    for (int i = 0; i < n; i++)
        MPI_Isend(NULL, 0, MPI_CHAR, MPI_PROC_NULL, 1, self, &requests[i].request);
    for (int i = n - 1; i >= 0; i--)
        MPI_Wait(&requests[i].request, MPI_STATUS_IGNORE);
    free(requests);
}

/* Started in one variable, completed in another. */
static void shared_copied(int n)
{
    MPI_Request one, *requests = get((size_t)n, sizeof *requests);
    for (int i = 0; i < n; i++) {
        MPI_Isend(NULL, 0, MPI_CHAR, MPI_PROC_NULL, 1, self, &one);
        requests[i] = one;
    }
    wait_each(requests, n, reverse);
    free(requests);
}

/* Never completed: they are dropped. */
static void shared_left(int n)
{
    MPI_Request one;
    for (int i = 0; i < n; i++)
        MPI_Isend(NULL, 0, MPI_CHAR, MPI_PROC_NULL, 1, self, &one);
}

struct work {
    MPI_Request *requests;
    int n;
};
static void *wait_for(void *argument)
{
    struct work *work = argument;
    CALLGRIND_TOGGLE_COLLECT;
    wait_each(work->requests, work->n, reverse);
    CALLGRIND_TOGGLE_COLLECT;
    return NULL;
}
static void wait_elsewhere(MPI_Request *requests, int n)
{
    struct work work = {requests, n};
    pthread_t thread;
    if (pthread_create(&thread, NULL, wait_for, &work))
        abort();
    pthread_join(thread, NULL);
}

/* Completed by another thread, at the same address and at another. */
static void elsewhere(int n)
{
    MPI_Request *requests = get((size_t)n, sizeof *requests);
    start_sends(requests, n, MPI_PROC_NULL);
    wait_elsewhere(requests, n);
    free(requests);
}
static void elsewhere_copied(int n)
{
    MPI_Request *requests = get((size_t)n, sizeof *requests), *copies = get((size_t)n, sizeof *copies);
    start_sends(requests, n, MPI_PROC_NULL);
    memcpy(copies, requests, (size_t)n * sizeof *copies);
    wait_elsewhere(copies, n);
    free(requests);
    free(copies);
}

static void receives(int n, order index)
{
    MPI_Request *requests = get((size_t)n, sizeof *requests);
    for (int i = 0; i < n; i++)
        MPI_Irecv(NULL, 0, MPI_CHAR, 0, 1, self, &requests[i]);
    for (int i = 0; i < n; i++)
        MPI_Send(NULL, 0, MPI_CHAR, 0, 1, self);
    wait_each(requests, n, index);
    free(requests);
}
static void receives_forward(int n)
{
    receives(n, forward);
}
static void receives_reverse(int n)
{
    receives(n, reverse);
}
static void receives_scattered(int n)
{
    receives(n, scattered);
}

static void persistent(int n)
{
    MPI_Request *requests = get((size_t)n, sizeof *requests);
    for (int i = 0; i < n; i++)
        MPI_Recv_init(NULL, 0, MPI_CHAR, MPI_PROC_NULL, 1, self, &requests[i]);
    MPI_Startall(n, requests);
    wait_each(requests, n, reverse);
    for (int i = 0; i < n; i++)
        MPI_Request_free(&requests[i]);
    free(requests);
}

static void null(int n)
{
    MPI_Request *requests = get((size_t)n, sizeof *requests);
    for (int i = 0; i < n; i++)
        requests[i] = MPI_REQUEST_NULL;
    MPI_Waitall(n, requests, MPI_STATUSES_IGNORE);
    wait_each(requests, n, reverse);
    free(requests);
}

/* ---- threads */

static pthread_barrier_t all;
static void *ask(void *alive)
{
    int rank;
    CALLGRIND_TOGGLE_COLLECT;
    MPI_Comm_rank(self, &rank);
    CALLGRIND_TOGGLE_COLLECT;
    if (alive)
        pthread_barrier_wait(&all);
    return NULL;
}

static void threads_joined(int n)
{
    for (int i = 0; i < n; i++) {
        pthread_t thread;
        if (pthread_create(&thread, NULL, ask, NULL))
            abort();
        pthread_join(thread, NULL);
    }
}

static void threads_alive(int n)
{
    pthread_t *threads = get((size_t)n, sizeof *threads);
    pthread_attr_t small;
    pthread_attr_init(&small);
    pthread_attr_setstacksize(&small, 128 << 10);
    pthread_barrier_init(&all, NULL, (unsigned)n);
    for (int i = 0; i < n; i++)
        if (pthread_create(&threads[i], &small, ask, &all))
            abort();
    for (int i = 0; i < n; i++)
        pthread_join(threads[i], NULL);
    pthread_barrier_destroy(&all);
    pthread_attr_destroy(&small);
    free(threads);
}

/* ---- objects: made, used and freed one after the other, or alive together and freed in reverse order */

#define KIND(name, type, make, use, end)                                                                               \
    static void name##_one(int n)                                                                                      \
    {                                                                                                                  \
        for (int i = 0; i < n; i++) {                                                                                  \
            type it;                                                                                                   \
            make;                                                                                                      \
            use;                                                                                                       \
            end;                                                                                                       \
        }                                                                                                              \
    }                                                                                                                  \
    static void name##_alive(int n)                                                                                    \
    {                                                                                                                  \
        type *all_of = get((size_t)n, sizeof *all_of), it;                                                             \
        for (int i = 0; i < n; i++) {                                                                                  \
            make;                                                                                                      \
            all_of[i] = it;                                                                                            \
        }                                                                                                              \
        for (int i = 0; i < n; i++) {                                                                                  \
            it = all_of[i];                                                                                            \
            use;                                                                                                       \
        }                                                                                                              \
        for (int i = n - 1; i >= 0; i--) {                                                                             \
            it = all_of[i];                                                                                            \
            end;                                                                                                       \
        }                                                                                                              \
        free(all_of);                                                                                                  \
    }

static const int first[1] = {0};
static MPI_Group world;
static char memory[8];

KIND(comms, MPI_Comm, MPI_Comm_dup(self, &it), MPI_Barrier(it), MPI_Comm_free(&it))
KIND(types, MPI_Datatype, (MPI_Type_contiguous(i % 50 + 1, MPI_INT, &it), MPI_Type_commit(&it)),
     MPI_Send(memory, 0, it, MPI_PROC_NULL, 1, self), MPI_Type_free(&it))
KIND(windows, MPI_Win, MPI_Win_create(memory, 8, 1, MPI_INFO_NULL, self, &it), MPI_Win_fence(0, it), MPI_Win_free(&it))
KIND(files, MPI_File, MPI_File_open(self, "doubling.data", MPI_MODE_RDWR | MPI_MODE_CREATE, MPI_INFO_NULL, &it),
     MPI_File_write_at(it, 0, memory, 8, MPI_CHAR, MPI_STATUS_IGNORE), MPI_File_close(&it))
KIND(groups, MPI_Group, MPI_Group_incl(world, 1, first, &it), MPI_Group_rank(it, &(int){0}), MPI_Group_free(&it))
KIND(infos, MPI_Info, MPI_Info_create(&it), MPI_Info_set(it, "key", "value"), MPI_Info_free(&it))

static const struct mode {
    const char *name;
    void (*body)(int n);
    int n;
} modes[] = {
    {"shared_forward", shared_forward, 4000},
    {"shared_reverse", shared_reverse, 4000},
    {"shared_scattered", shared_scattered, 4000},
    {"shared_apart", shared_apart, 4000},
    {"shared_copied", shared_copied, 4000},
    {"shared_left", shared_left, 20000},
    {"elsewhere", elsewhere, 4000},
    {"elsewhere_copied", elsewhere_copied, 4000},
    {"receives_forward", receives_forward, 4000},
    {"receives_reverse", receives_reverse, 4000},
    {"receives_scattered", receives_scattered, 4000},
    {"persistent", persistent, 4000},
    {"null", null, 4000},
    {"threads_joined", threads_joined, 200},
    {"threads_alive", threads_alive, 50},
    {"threads_many", threads_alive, 300},
    {"comms_one", comms_one, 1000},
    {"comms_alive", comms_alive, 1000},
    {"types_one", types_one, 4000},
    {"types_alive", types_alive, 4000},
    {"windows_one", windows_one, 200},
    {"windows_alive", windows_alive, 200},
    {"files_one", files_one, 200},
    {"files_alive", files_alive, 200},
    {"groups_one", groups_one, 4000},
    {"groups_alive", groups_alive, 4000},
    {"infos_one", infos_one, 4000},
    {"infos_alive", infos_alive, 4000},
};

static void measure(const struct mode *mode)
{
    static const int times[] = {4, 1, 2, 4};
    for (unsigned i = 0; i < sizeof times / sizeof *times; i++) {
        char title[64];
        snprintf(title, sizeof title, "%s %d", mode->name, times[i]);
        CALLGRIND_ZERO_STATS;
        CALLGRIND_TOGGLE_COLLECT; /* counts this thread only: the recorder's own threads do not count */
        mode->body(mode->n * times[i]);
        CALLGRIND_TOGGLE_COLLECT;
        if (i > 0)
            CALLGRIND_DUMP_STATS_AT(title);
    }
}

int main(int argc, char **argv)
{
    int level;
    MPI_Init_thread(&argc, &argv, getenv("ONE") ? MPI_THREAD_SINGLE : MPI_THREAD_MULTIPLE, &level);
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    for (unsigned i = 0; i < sizeof modes / sizeof *modes; i++)
        for (int a = 1; a < argc; a++)
            if (strcmp(argv[a], modes[i].name) == 0)
                measure(&modes[i]);
    MPI_Group_free(&world);
    MPI_Finalize();
    puts("done");
    return 0;
}
