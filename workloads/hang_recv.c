/* hang_recv: after a barrier rank 1 waits in MPI_Recv for a message from rank 0 (tag 42, one element of 64 bytes
 * whose datatype no other call has had) that never comes; every other rank sleeps outside MPI.  It ends when it is
 * killed, or after 120 seconds.
 * Truth: rank 1 is inside MPI_Recv, the others are outside; one MPI_Barrier a rank. */
#include <mpi.h>
#include <stdlib.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    int me, n;
    char in[64];
    MPI_Datatype block;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Comm_size(MPI_COMM_WORLD, &n);
    MPI_Barrier(MPI_COMM_WORLD);
    alarm(120);
    MPI_Type_contiguous(64, MPI_CHAR, &block);
    MPI_Type_commit(&block);
    if (me == 1)
        MPI_Recv(in, 1, block, 0, 42, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    for (;;)
        pause();
}
