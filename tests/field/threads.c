/* Threads: mutexes around MPI, pools that run out, and threads that are not there any more. */
#include "field.h"

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
static bool told;
static MPI_Comm own; /* communicator of the threads */

static pthread_t start(void *(*run)(void *), void *with)
{
    pthread_t t;
    pthread_create(&t, NULL, run, with);
    return t;
}

/* Receives under the mutex ... */
static void *receive_locked(void *unused)
{
    int x;
    pthread_mutex_lock(&mutex);
    MPI_Recv(&x, 1, MPI_INT, 1, 2, own, NO_STATUS);
    pthread_mutex_unlock(&mutex);
    return unused;
}

/* ... and the main thread needs it to send the answer. */
static void mutex_around_recv(void)
{
    int x = 0;
    MPI_Comm_dup(WORLD, &own);
    warm(20);
    if (rank == 0) {
        pthread_t t = start(receive_locked, NULL);
        nap(0.5);
        pthread_mutex_lock(&mutex);
        MPI_Send(&x, 1, MPI_INT, 1, 1, own);
        pthread_mutex_unlock(&mutex);
        pthread_join(t, NULL);
    } else if (rank == 1) {
        MPI_Recv(&x, 1, MPI_INT, 0, 1, own, NO_STATUS);
        MPI_Send(&x, 1, MPI_INT, 0, 2, own);
    }
    MPI_Barrier(WORLD);
}

/* A pool of one thread whose jobs are barriers on communicators of their own; rank 1 takes them in another order. */
static MPI_Comm pool_comm[2];
static int next_job;

static void *pool_thread(void *unused)
{
    for (;;) {
        pthread_mutex_lock(&mutex);
        int job = next_job++;
        pthread_mutex_unlock(&mutex);
        if (job > 1)
            return unused;
        MPI_Barrier(pool_comm[rank == 1 ? 1 - job : job]);
    }
}

static void pool_order(void)
{
    MPI_Comm_dup(WORLD, &pool_comm[0]);
    MPI_Comm_dup(WORLD, &pool_comm[1]);
    warm(20);
    pthread_t a = start(pool_thread, NULL);
    pthread_join(a, NULL);
    MPI_Barrier(WORLD);
}

/* Requests need a thread to be served, and all threads wait for replies. */
static void *ask_other(void *unused)
{
    int x = 0;
    MPI_Ssend(&x, 1, MPI_INT, 1 - rank, 1, own);
    MPI_Recv(&x, 1, MPI_INT, 1 - rank, 2, own, NO_STATUS);
    return unused;
}

static void *serve(void *unused)
{
    int x = 0;
    MPI_Recv(&x, 1, MPI_INT, 1 - rank, 1, own, NO_STATUS);
    MPI_Send(&x, 1, MPI_INT, 1 - rank, 2, own);
    return unused;
}

static void pool_starved(void)
{
    MPI_Comm_dup(WORLD, &own);
    warm(20);
    if (rank < 2) {
        pthread_t pool[2];
        for (int i = 0; i < 2; i++)
            pool[i] = start(ask_other, NULL);
        for (int i = 0; i < 2; i++)
            pthread_join(pool[i], NULL);
        for (int i = 0; i < 2; i++)
            serve(NULL);
    }
    MPI_Barrier(WORLD);
}

/* The thread that communicates has met an error and returned; the main thread waits to be told. */
static void *communicate(void *unused)
{
    int x = 0;
    for (int i = 0; i < 10; i++) {
        MPI_Recv(&x, 1, MPI_INT, 0, i, own, NO_STATUS);
        if (i == 8)
            return unused;
    }
    pthread_mutex_lock(&mutex);
    told = true;
    pthread_cond_signal(&cond);
    pthread_mutex_unlock(&mutex);
    return unused;
}

static void thread_gone(void)
{
    int x = 0;
    MPI_Comm_dup(WORLD, &own);
    warm(20);
    if (rank == 1) {
        pthread_t t = start(communicate, NULL);
        pthread_mutex_lock(&mutex);
        while (!told)
            pthread_cond_wait(&cond, &mutex);
        pthread_mutex_unlock(&mutex);
        pthread_join(t, NULL);
    }
    for (int i = 0; i < 10 && rank == 0; i++)
        MPI_Ssend(&x, 1, MPI_INT, 1, i, own);
    MPI_Barrier(WORLD);
}

/* Two threads of a rank receive jobs; each needs a stop of its own, and one is sent. */
static void *take_jobs(void *unused)
{
    for (int x;;) {
        MPI_Status s;
        MPI_Recv(&x, 1, MPI_INT, 0, MPI_ANY_TAG, own, &s);
        if (s.MPI_TAG == 9)
            return unused;
        work(0.01);
    }
}

static void one_stop(void)
{
    int x = 0;
    MPI_Comm_dup(WORLD, &own);
    warm(20);
    for (int i = 0; i < 20 && rank == 0; i++)
        MPI_Send(&x, 1, MPI_INT, 1, 1, own);
    if (rank == 0)
        MPI_Send(&x, 1, MPI_INT, 1, 9, own);
    if (rank == 1) {
        pthread_t a = start(take_jobs, NULL), b = start(take_jobs, NULL);
        pthread_join(a, NULL);
        pthread_join(b, NULL);
    }
    MPI_Barrier(WORLD);
}

/* Two ranks stand in a barrier for 10 s while others talk or compute. */
static void barrier_and_talk_ok(void)
{
    int x = 0;
    MPI_Comm_dup(WORLD, &own);
    if (rank == 0)
        work(10);
    if (rank >= 2 && size >= 4) {
        for (int i = 0; i < 400; i++) {
            work(0.02);
            MPI_Sendrecv(&rank, 1, MPI_INT, rank ^ 1, 1, &x, 1, MPI_INT, rank ^ 1, 1, own, NO_STATUS);
        }
    }
    MPI_Barrier(WORLD);
}

/* Servers that wait all day for requests which come every 2 s; the stops come in the end. */
static void servers_ok(void)
{
    int x = 0;
    MPI_Comm_dup(WORLD, &own);
    pthread_t a = start(take_jobs, NULL), b = start(take_jobs, NULL);
    for (int i = 0; i < 5 && rank == 0; i++) {
        work(2);
        for (int w = 0; w < size; w++)
            MPI_Send(&x, 1, MPI_INT, w, 1, own);
    }
    for (int w = 0; w < 2 * size && rank == 0; w++)
        MPI_Send(&x, 1, MPI_INT, w / 2, 9, own);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    MPI_Barrier(WORLD);
}

/* A thread that has called no MPI yet waits for its input, and sends then what frees both ranks. */
static void *feed(void *unused)
{
    int x = 0;
    nap(8);
    MPI_Send(&x, 1, MPI_INT, 1, 1, WORLD);
    return unused;
}

static void late_feeder_ok(void)
{
    int x = 0;
    warm(20);
    if (rank == 0) {
        pthread_t t = start(feed, NULL);
        MPI_Recv(&x, 1, MPI_INT, 1, 2, WORLD, NO_STATUS);
        pthread_join(t, NULL);
    } else if (rank == 1) {
        MPI_Recv(&x, 1, MPI_INT, 0, 1, WORLD, NO_STATUS);
        MPI_Send(&x, 1, MPI_INT, 0, 2, WORLD);
    }
    MPI_Barrier(WORLD);
}

/* A spin lock by hand around MPI, taken twice by the same thread through a callback. */
static void spin_twice(void)
{
    static volatile int taken;
    warm(20);
    if (rank == 2) {
        while (__sync_lock_test_and_set(&taken, 1))
            ;
        MPI_Send(&rank, 1, MPI_INT, 3, 1, WORLD);
        while (__sync_lock_test_and_set(&taken, 1))
            ;
    }
    MPI_Barrier(WORLD);
}

FIELD_PROGRAMS({"mutex_around_recv", mutex_around_recv, MPI_THREAD_MULTIPLE},
               {"pool_order", pool_order, MPI_THREAD_MULTIPLE}, {"pool_starved", pool_starved, MPI_THREAD_MULTIPLE},
               {"thread_gone", thread_gone, MPI_THREAD_MULTIPLE}, {"one_stop", one_stop, MPI_THREAD_MULTIPLE},
               {"barrier_and_talk_ok", barrier_and_talk_ok, MPI_THREAD_MULTIPLE},
               {"servers_ok", servers_ok, MPI_THREAD_MULTIPLE}, {"late_feeder_ok", late_feeder_ok, MPI_THREAD_MULTIPLE},
               {"spin_twice", spin_twice, 0})
