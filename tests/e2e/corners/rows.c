/* Thirteen calls in twenty sizes (0, 1, 2, 4 .. 2^18: 524287 bytes together), more than a live page has rows, and then
 * calls that had none before.  Known answer: each of the first 20 times (Recv 40, Wait 60), Barrier 1000, Iprobe 7. */
#include <mpi.h>

int main(int argc, char **argv)
{
    static char out[1 << 18], in[1 << 18];
    MPI_Comm self = MPI_COMM_SELF;
    MPI_Request q;
    MPI_Init(&argc, &argv);
    for (int k = 0; k < 20; k++) {
        int n = k ? 1 << (k - 1) : 0;
        MPI_Sendrecv(out, n, MPI_BYTE, 0, 1, in, n, MPI_BYTE, 0, 1, self, MPI_STATUS_IGNORE);
        MPI_Isend(out, n, MPI_BYTE, 0, 1, self, &q);
        MPI_Recv(in, n, MPI_BYTE, 0, 1, self, MPI_STATUS_IGNORE);
        MPI_Wait(&q, MPI_STATUS_IGNORE);
        MPI_Issend(out, n, MPI_BYTE, 0, 1, self, &q);
        MPI_Recv(in, n, MPI_BYTE, 0, 1, self, MPI_STATUS_IGNORE);
        MPI_Wait(&q, MPI_STATUS_IGNORE);
        MPI_Irecv(in, n, MPI_BYTE, 0, 1, self, &q);
        MPI_Send(out, n, MPI_BYTE, 0, 1, self);
        MPI_Wait(&q, MPI_STATUS_IGNORE);
        MPI_Bcast(out, n, MPI_BYTE, 0, self);
        MPI_Allreduce(out, in, n, MPI_BYTE, MPI_BOR, self);
        MPI_Reduce(out, in, n, MPI_BYTE, MPI_BOR, 0, self);
        MPI_Scan(out, in, n, MPI_BYTE, MPI_BOR, self);
        MPI_Gather(out, n, MPI_BYTE, in, n, MPI_BYTE, 0, self);
        MPI_Alltoall(out, n, MPI_BYTE, in, n, MPI_BYTE, self);
    }
    for (int i = 0; i < 1000; i++)
        MPI_Barrier(self);
    for (int i = 0; i < 7; i++) {
        int flag;
        MPI_Iprobe(0, 2, self, &flag, MPI_STATUS_IGNORE);
    }
    MPI_Finalize();
    return 0;
}
