/* A plugin that calls MPI from a function WORK whose frame is ROOM bytes large.  Two plugins differ in nothing else, so
 * that their code has the same addresses where they are loaded at the same place. */
#include <mpi.h>

__attribute__((noinline)) int WORK(int times)
{
    char room[ROOM];
    int rank, version, minor;
    while (times-- > 0) {
        MPI_Comm_rank(MPI_COMM_WORLD, &rank);
        MPI_Get_version(&version, &minor);
        __asm__ volatile("" ::"r"(room) : "memory");
    }
    return rank;
}

int plugin_run(int times);
int plugin_run(int times)
{
    return WORK(times) + 1;
}
