/* hang_ends MODE: jobs that do not get into MPI or out of it.  They end when they are killed, or after 180 seconds.
 *
 *   init        rank 2 sleeps before it calls MPI_Init, the others wait in MPI_Init
 *   finalize    rank 2 sleeps in a callback of MPI_Finalize, the others wait in MPI_Finalize
 *   computes    rank 2 computes in a callback of MPI_Finalize, the others wait in MPI_Finalize: waited for
 *   handler     rank 1 sleeps in an exit handler, after MPI_Finalize
 *   thread      a thread of rank 1 goes on waiting after MPI_Finalize and keeps the process
 *   afterwards  rank 1 computes for 8 s after MPI_Finalize, and ends: healthy */
#include <mpi.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static void sleep_for_ever(void)
{
    for (;;)
        pause();
}

static int sleeping_callback(MPI_Comm comm, int key, void *value, void *state)
{
    (void)comm, (void)key, (void)value, (void)state;
    sleep_for_ever();
    return 0;
}

static int computing_callback(MPI_Comm comm, int key, void *value, void *state)
{
    (void)comm, (void)key, (void)value, (void)state;
    for (volatile double x = 1; x > 0;)
        x = x * 0.5 + 1;
    return 0;
}

static void sleeping_handler(void)
{
    sleep_for_ever();
}

static void *sleeping_thread(void *unused)
{
    sleep_for_ever();
    return unused;
}

/* The rank before MPI_Init: as the launcher has it. */
static int early_rank(void)
{
    static const char *const names[] = {"OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (getenv(names[i]))
            return atoi(getenv(names[i]));
    return -1;
}

int main(int argc, char **argv)
{
    const char *mode = argc > 1 ? argv[1] : "";
    int me, key, one = 1, sum;
    pthread_t thread;
    alarm(180);
    if (strcmp(mode, "init") == 0 && early_rank() == 2)
        sleep_for_ever();
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    const int sleeps = strcmp(mode, "finalize") == 0, computes = strcmp(mode, "computes") == 0;
    if ((sleeps || computes) && me == 2) {
        MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, sleeps ? sleeping_callback : computing_callback, &key, NULL);
        MPI_Comm_set_attr(MPI_COMM_SELF, key, NULL);
    }
    MPI_Finalize();
    if (me != 1)
        return 0;
    if (strcmp(mode, "handler") == 0)
        atexit(sleeping_handler);
    if (strcmp(mode, "thread") == 0 && !pthread_create(&thread, NULL, sleeping_thread, NULL))
        pthread_exit(NULL);
    volatile double x = 1;
    for (time_t end = time(NULL) + 8; strcmp(mode, "afterwards") == 0 && time(NULL) < end;)
        x = x * 1.0000001 + 1e-9;
    return 0;
}
