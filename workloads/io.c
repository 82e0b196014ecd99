/* io: MPI-IO on one file, `io.dat` in the working folder (or argument 1).
 * Truth per rank, written bytes are "sent" and read bytes "received", as the status tells them:
 *   File_write_at 100 B, File_read_at 100 B, File_write_at_all 60 B, File_read_at_all 60 B,
 *   File_write 20 B and File_read 20 B at the individual pointer, File_write_all 40 B, File_read_all 40 B,
 *   File_iwrite_at 80 B and File_iread_at 80 B (charged there, completed by MPI_Wait),
 *   File_write_shared 10 B and File_read_ordered 10 B,
 *   File_read_at of 1000 B that begins 30 B before the end of the file: 30 B arrive. */
#include "truth.h"
#include <mpi.h>

static void answer(int n)
{
    truth_frame(n);
    for (int r = 0; r < n; r++) {
        truth_call(r, "MPI_File_open", 1, 0, 0);
        truth_call(r, "MPI_File_close", 1, 0, 0);
        truth_call(r, "MPI_Barrier", 3, 0, 0);
        truth_call(r, "MPI_File_seek", 4, 0, 0);
        truth_call(r, "MPI_File_seek_shared", 1, 0, 0);
        truth_call(r, "MPI_File_set_size", 1, 0, 0);
        truth_call(r, "MPI_File_sync", 1, 0, 0);
        truth_call(r, "MPI_File_write_at", 1, 100, 0);
        truth_call(r, "MPI_File_read_at", 2, 0, 100 + 30);
        truth_call(r, "MPI_File_write_at_all", 1, 60, 0);
        truth_call(r, "MPI_File_read_at_all", 1, 0, 60);
        truth_call(r, "MPI_File_write", 1, 20, 0);
        truth_call(r, "MPI_File_read", 1, 0, 20);
        truth_call(r, "MPI_File_write_all", 1, 40, 0);
        truth_call(r, "MPI_File_read_all", 1, 0, 40);
        truth_call(r, "MPI_File_iwrite_at", 1, 80, 0);
        truth_call(r, "MPI_File_iread_at", 1, 0, 80);
        truth_call(r, "MPI_Wait", 2, 0, 0);
        truth_call(r, "MPI_File_write_shared", 1, 10, 0);
        truth_call(r, "MPI_File_read_ordered", 1, 0, 10);
    }
}

int main(int argc, char **argv)
{
    int me, n, bad = 0;
    char data[1000] = {0};
    MPI_File f;
    MPI_Status status;
    MPI_Request request;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Comm_size(MPI_COMM_WORLD, &n);
    const char *path = argc > 1 ? argv[1] : "io.dat";
    int mode = MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE;
    if (MPI_File_open(MPI_COMM_WORLD, path, mode, MPI_INFO_NULL, &f) != MPI_SUCCESS) {
        fprintf(stderr, "io: cannot open %s\n", path);
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    MPI_Offset mine = 1000 * (MPI_Offset)me;
    MPI_File_set_size(f, 1000 * (MPI_Offset)n);
    MPI_File_write_at(f, mine, data, 100, MPI_CHAR, MPI_STATUS_IGNORE);
    MPI_File_read_at(f, mine, data, 25, MPI_INT, &status);
    MPI_File_write_at_all(f, mine + 100, data, 15, MPI_INT, &status);
    MPI_File_read_at_all(f, mine + 100, data, 60, MPI_CHAR, MPI_STATUS_IGNORE);
    MPI_File_seek(f, mine, MPI_SEEK_SET);
    MPI_File_write(f, data, 20, MPI_CHAR, &status);
    MPI_File_seek(f, mine, MPI_SEEK_SET);
    MPI_File_read(f, data, 20, MPI_CHAR, &status);
    MPI_File_seek(f, mine, MPI_SEEK_SET);
    MPI_File_write_all(f, data, 5, MPI_DOUBLE, MPI_STATUS_IGNORE);
    MPI_File_seek(f, mine, MPI_SEEK_SET);
    MPI_File_read_all(f, data, 5, MPI_DOUBLE, &status);
    MPI_File_iwrite_at(f, mine + 200, data, 80, MPI_CHAR, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_File_iread_at(f, mine + 200, data, 80, MPI_CHAR, &request);
    MPI_Wait(&request, &status);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_File_write_shared(f, data, 10, MPI_CHAR, MPI_STATUS_IGNORE);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_File_seek_shared(f, 0, MPI_SEEK_SET);
    MPI_File_read_ordered(f, data, 10, MPI_CHAR, &status);
    MPI_File_sync(f);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_File_read_at(f, 1000 * (MPI_Offset)n - 30, data, 1000, MPI_CHAR, &status);
    MPI_File_close(&f);
    if (me == 0) {
        answer(n);
        bad = truth_write(n);
    }
    MPI_Finalize();
    return bad;
}
