/* Receives that are too small, on 2 ranks.  All messages have tag 7.  0 to 1: 64 bytes into room for 16, then 8, then
 * 4; a Sendrecv of 24 bytes each way that has room for 4 on rank 1 only; then 2 bytes, and 5 back; then three of 100
 * bytes into room for 40, by Irecv, Mrecv and Imrecv. Known answer: 0 to 1 eight messages of 402 bytes, 1 to 0 two of
 * 29; each receive belongs to the send of its place; a cut message counts the bytes that had room. */
#include <mpi.h>

int main(int argc, char **argv)
{
    char out[64] = "", in[64], large[100] = "";
    int me;
    MPI_Comm world = MPI_COMM_WORLD;
    MPI_Init(&argc, &argv);
    MPI_Comm_set_errhandler(world, MPI_ERRORS_RETURN);
    MPI_Comm_rank(world, &me);
    if (me == 0) {
        MPI_Send(out, 64, MPI_BYTE, 1, 7, world);
        MPI_Send(out, 8, MPI_BYTE, 1, 7, world);
        MPI_Send(out, 4, MPI_BYTE, 1, 7, world);
        MPI_Sendrecv(out, 24, MPI_BYTE, 1, 7, in, 64, MPI_BYTE, 1, 7, world, MPI_STATUS_IGNORE);
        MPI_Send(out, 2, MPI_BYTE, 1, 7, world);
        MPI_Recv(in, 16, MPI_BYTE, 1, 7, world, MPI_STATUS_IGNORE);
        for (int i = 0; i < 3; i++)
            MPI_Send(large, 100, MPI_BYTE, 1, 7, world);
    } else {
        MPI_Request request;
        MPI_Message message;
        if (MPI_Recv(in, 16, MPI_BYTE, 0, 7, world, MPI_STATUS_IGNORE) == MPI_SUCCESS)
            MPI_Abort(world, 9);
        MPI_Recv(in, 16, MPI_BYTE, 0, 7, world, MPI_STATUS_IGNORE);
        MPI_Recv(in, 16, MPI_BYTE, 0, 7, world, MPI_STATUS_IGNORE);
        MPI_Sendrecv(out, 24, MPI_BYTE, 0, 7, in, 4, MPI_BYTE, 0, 7, world, MPI_STATUS_IGNORE);
        MPI_Recv(in, 16, MPI_BYTE, 0, 7, world, MPI_STATUS_IGNORE);
        MPI_Send(out, 5, MPI_BYTE, 0, 7, world);
        MPI_Irecv(in, 40, MPI_BYTE, 0, 7, world, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        MPI_Mprobe(0, 7, world, &message, MPI_STATUS_IGNORE);
        MPI_Mrecv(in, 40, MPI_BYTE, &message, MPI_STATUS_IGNORE);
        MPI_Mprobe(0, 7, world, &message, MPI_STATUS_IGNORE);
        MPI_Imrecv(in, 40, MPI_BYTE, &message, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
    MPI_Finalize();
    return 0;
}
