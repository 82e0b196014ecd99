/* Rank 1 calls collectives that MPI refuses at once: a barrier's number must be the same on both ranks.  With an
 * argument, rank 0 comes to the last barrier that number of seconds late. */
#include <mpi.h>
#ifdef TOOL /* preloaded: an MPI_Bcast that fails, and nobody can say when */
int MPI_Bcast(void *b, int n, MPI_Datatype t, int root, MPI_Comm c)
{
    (void)b, (void)n, (void)t, (void)root, (void)c;
    return MPI_ERR_OTHER;
}
#else
#include <stdlib.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    int me, words[2] = {0}, many[2] = {0};
    MPI_Comm dup;
    MPI_Request request;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    for (int i = 0; i < 3; i++) {
        if (me == 1) {
            MPI_Bcast(words, -1, MPI_INT, 0, MPI_COMM_WORLD);
            MPI_Allreduce(words, many, 1, MPI_DATATYPE_NULL, MPI_SUM, MPI_COMM_WORLD);
            MPI_Reduce(words, many, 1, MPI_INT, MPI_SUM, 77, MPI_COMM_WORLD);
            MPI_Ibcast(words, -2, MPI_INT, 0, MPI_COMM_WORLD, &request);
        }
        MPI_Allreduce(words, many, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    }
    MPI_Comm_dup(MPI_COMM_WORLD, &dup);
    MPI_Barrier(dup);
    if (argc > 1 && me == 0)
        sleep((unsigned)atoi(argv[1]));
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Finalize();
    return 0;
}
#endif
