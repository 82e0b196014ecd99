/* One rank that is stuck outside MPI, by every means, while the others wait for it. */
#include "field.h"
#include <fcntl.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>

static volatile long turns;

/* Steps with a sum; at the 30th, `who` enters its standstill. */
static void steps(int who, void (*stuck)(void))
{
    warm(30);
    if (rank == who)
        stuck();
    warm(10);
}

static void in_read(void)
{
    int ends[2];
    char c;
    if (pipe(ends) == 0 && read(ends[0], &c, 1) == 1)
        turns++;
}

static void in_loop(void)
{
    for (unsigned x = 1; x; x = x * 3 | 1)
        turns++;
}

static void in_sleep(void)
{
    nap(1000);
}

static void in_mutex(void)
{
    static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
    pthread_mutex_lock(&m);
    pthread_mutex_lock(&m);
}

static void in_system(void)
{
    turns += system("exec sleep 300");
}

static void *ends_at_once(void *unused)
{
    return unused;
}

/* Waits to be told by a thread that has ended. */
static void in_cond(void)
{
    pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
    pthread_cond_t c = PTHREAD_COND_INITIALIZER;
    pthread_t t;
    pthread_create(&t, NULL, ends_at_once, NULL);
    pthread_join(t, NULL);
    pthread_mutex_lock(&m);
    pthread_cond_wait(&c, &m);
}

static void in_fifo(void)
{
    char path[64];
    snprintf(path, sizeof path, "fifo.%d", (int)getpid());
    turns += mkfifo(path, 0600) + open(path, O_RDONLY);
}

static void in_stop(void)
{
    raise(SIGSTOP);
}

static void in_fork_wait(void)
{
    pid_t child = fork();
    if (child == 0) {
        nap(300);
        _exit(0);
    }
    waitpid(child, NULL, 0);
}

static void by_read(void)
{
    steps(1, in_read);
}
static void by_loop(void)
{
    steps(2, in_loop);
}
static void by_sleep(void)
{
    steps(0, in_sleep);
}
static void by_mutex(void)
{
    steps(3, in_mutex);
}
static void by_system(void)
{
    steps(2, in_system);
}
static void by_cond(void)
{
    steps(1, in_cond);
}
static void by_fifo(void)
{
    steps(1, in_fifo);
}
static void by_stop(void)
{
    steps(2, in_stop);
}
static void by_fork(void)
{
    steps(3, in_fork_wait);
}

/* A file is locked by rank 0, which waits for all; rank 2 waits for the lock. */
static void by_flock(void)
{
    warm(20);
    int fd = open("lock", O_CREAT | O_RDWR, 0600);
    if (rank == 0)
        flock(fd, LOCK_EX);
    MPI_Barrier(WORLD);
    if (rank == 2)
        flock(fd, LOCK_EX);
    warm(10);
    close(fd);
}

/* A chain of receives behind a rank that sleeps. */
static void chain(void)
{
    int x = 0;
    for (int step = 0; step < 40; step++) {
        work(0.002);
        if (rank == 0 && step == 30)
            nap(1000);
        if (rank)
            MPI_Recv(&x, 1, MPI_INT, rank - 1, step, WORLD, NO_STATUS);
        if (rank < size - 1)
            MPI_Ssend(&x, 1, MPI_INT, rank + 1, step, WORLD);
    }
}

/* The receiver of a synchronous send computes for ever. */
static void receiver(void)
{
    int x = 0;
    for (int step = 0; step < 40; step++) {
        if (rank == 1 && step == 30)
            in_loop();
        for (int w = 1; w < size; w++) {
            if (rank == 0)
                MPI_Ssend(&x, 1, MPI_INT, w, step, WORLD);
            if (rank == w)
                MPI_Recv(&x, 1, MPI_INT, 0, step, WORLD, NO_STATUS);
        }
    }
}

/* Two ranks are stuck, for two reasons. */
static void two(void)
{
    warm(30);
    if (rank == 1)
        in_loop();
    if (rank == 3)
        in_read();
    warm(10);
}

/* Never calls MPI after MPI_Init. */
static void from_start(void)
{
    if (rank == 2)
        nap(1000);
    warm(10);
}

/* Does not come to MPI_Finalize: writes its log for ever. */
static void before_finalize(void)
{
    warm(30);
    if (rank == 1)
        in_loop();
}

/* Is done with MPI, but not with itself. */
static void after_finalize(void)
{
    warm(30);
    MPI_Finalize();
    if (rank == 2)
        in_loop();
    exit(0);
}

FIELD_PROGRAMS({"read", by_read, 0}, {"loop", by_loop, 0}, {"sleep", by_sleep, 0}, {"mutex", by_mutex, 0},
               {"system", by_system, 0}, {"cond", by_cond, 0}, {"fifo", by_fifo, 0}, {"stop", by_stop, 0},
               {"fork", by_fork, 0}, {"flock", by_flock, 0}, {"chain", chain, 0}, {"receiver", receiver, 0},
               {"two", two, 0}, {"from_start", from_start, 0}, {"before_finalize", before_finalize, 0},
               {"after_finalize", after_finalize, 0})
