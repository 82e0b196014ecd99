/* Time of a planted kind, for the account of time.
 *   accounts crowd          works in short pieces between barriers: started on one processor, the ranks share it
 *   accounts asleep         sleeps outside MPI, in equal pieces
 *   accounts io             MPI_File_sync takes 50 ms, in this program's own fsync
 *   accounts library        MPI_Comm_dup takes 50 ms, in this program's own function that copies an attribute
 *   accounts barriers       sleeps 10 ms between barriers, for 6 s
 *   accounts open           rank 0 sleeps; the others wait in MPI_Barrier until they are killed */
#include <mpi.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define TIMES 20
#define PIECE 50000 /* us */

/* The MPI library calls this one in place of libc's. */
int fsync(int fd)
{
    (void)fd;
    usleep(PIECE);
    return 0;
}

static void work(void)
{
    volatile double x = 1;
    for (long i = 0; i < 4000000; i++)
        x = x * 1.0000001;
}

static void crowd(void)
{
    for (int i = 0; i < 5 * TIMES; i++) {
        work();
        MPI_Barrier(MPI_COMM_WORLD);
    }
}

static void asleep(void)
{
    for (int i = 0; i < 3 * TIMES; i++) {
        usleep(PIECE);
        MPI_Barrier(MPI_COMM_WORLD);
    }
}

static void meet(void)
{
    for (int i = 0; i < 600; i++) {
        usleep(10000);
        MPI_Barrier(MPI_COMM_WORLD);
    }
}

static void write_file(void)
{
    for (int i = 0; i < 2; i++) {
        MPI_File file;
        MPI_File_open(MPI_COMM_WORLD, "synced.dat", MPI_MODE_CREATE | MPI_MODE_WRONLY, MPI_INFO_NULL, &file);
        for (int k = 0; k < TIMES / 2; k++)
            MPI_File_sync(file); /* here */
        MPI_File_close(&file);
    }
}

static int copy_slowly(MPI_Comm comm, int key, void *extra, void *in, void *out, int *flag)
{
    (void)comm, (void)key, (void)extra, (void)in, (void)out;
    usleep(PIECE);
    *flag = 0;
    return MPI_SUCCESS;
}

static void duplicate(void)
{
    int key;
    MPI_Comm copy;
    MPI_Comm_create_keyval(copy_slowly, MPI_COMM_NULL_DELETE_FN, &key, NULL);
    MPI_Comm_set_attr(MPI_COMM_SELF, key, &key);
    for (int i = 0; i < TIMES; i++) {
        MPI_Comm_dup(MPI_COMM_SELF, &copy); /* here */
        MPI_Comm_free(&copy);
    }
    MPI_Comm_free_keyval(&key);
}

int main(int argc, char **argv)
{
    const char *mode = argc > 1 ? argv[1] : "";
    int rank;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (strcmp(mode, "crowd") == 0)
        crowd();
    else if (strcmp(mode, "asleep") == 0)
        asleep();
    else if (strcmp(mode, "barriers") == 0)
        meet();
    else if (strcmp(mode, "io") == 0)
        write_file();
    else if (strcmp(mode, "library") == 0)
        duplicate();
    else if (strcmp(mode, "open") == 0 && rank == 0)
        sleep(1000);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Finalize();
    return 0;
}
