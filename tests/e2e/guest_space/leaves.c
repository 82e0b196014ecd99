/* leaves finalize|exit: ends with MPI_Finalize, or without. */
#include <mpi.h>
#include <stdlib.h>
#include <string.h>
int main(int argc, char **argv)
{
    int me, finalizes = !strcmp(argv[1], "finalize");
    MPI_Init(&argc, &argv);
    for (int i = 0; i < 1000; i++)
        MPI_Comm_rank(MPI_COMM_WORLD, &me);
    if (finalizes)
        MPI_Finalize();
    exit(0);
}
