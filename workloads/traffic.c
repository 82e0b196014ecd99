/* traffic FOLDER: messages of two sizes on communicators with names, one late, and files; on two ranks or more.
 *
 * Known answer, TIMES rounds:
 *   ring   each rank sends 1 KiB to the next by MPI_Sendrecv
 *   bulk   in each BULK-th round rank 1 sends 256 KiB to rank 0, LATE after rank 0 has begun to wait
 *   WORLD  an MPI_Allreduce of 8 bytes ends the round
 *   files  FOLDER/shared: each rank writes BLOCKS blocks of BLOCK bytes with MPI_File_write_at, and reads the first of
 *          them; FOLDER/own.RANK, of MPI_COMM_SELF: one block of 100 bytes */
#include "truth.h"
#include <mpi.h>
#include <stdlib.h>

#define TIMES  40
#define BULK   10
#define LATE   0.150
#define SMALL  1024
#define LARGE  262144
#define BLOCKS 8
#define BLOCK  65536

static char large[LARGE];

static MPI_Comm make_comm(const char *name)
{
    MPI_Comm made;
    MPI_Comm_dup(MPI_COMM_WORLD, &made);
    MPI_Comm_set_name(made, name);
    return made;
}

static void pass_on(MPI_Comm ring, int me, int n)
{
    static char out[SMALL], in[SMALL];
    MPI_Sendrecv(out, SMALL, MPI_CHAR, (me + 1) % n, 1, in, SMALL, MPI_CHAR, (me + n - 1) % n, 1, ring,
                 MPI_STATUS_IGNORE);
}

static void send_late(MPI_Comm bulk, int me)
{
    MPI_Barrier(MPI_COMM_WORLD);
    if (me == 1) {
        truth_sleep(LATE);
        MPI_Send(large, LARGE, MPI_CHAR, 0, 2, bulk); /* line: send */
    } else if (me == 0) {
        MPI_Recv(large, LARGE, MPI_CHAR, 1, 2, bulk, MPI_STATUS_IGNORE);
    }
}

static void use_files(const char *folder, int me)
{
    char path[4096];
    MPI_File file;
    snprintf(path, sizeof path, "%s/shared", folder);
    MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file);
    for (int i = 0; i < BLOCKS; i++)
        MPI_File_write_at(file, (MPI_Offset)(me * BLOCKS + i) * BLOCK, large, BLOCK, MPI_CHAR, MPI_STATUS_IGNORE);
    MPI_File_read_at(file, (MPI_Offset)me * BLOCKS * BLOCK, large, BLOCK, MPI_CHAR, MPI_STATUS_IGNORE);
    MPI_File_close(&file);
    snprintf(path, sizeof path, "%s/own.%d", folder, me);
    MPI_File_open(MPI_COMM_SELF, path, MPI_MODE_CREATE | MPI_MODE_WRONLY, MPI_INFO_NULL, &file);
    MPI_File_write(file, large, 100, MPI_CHAR, MPI_STATUS_IGNORE);
    MPI_File_close(&file);
}

int main(int argc, char **argv)
{
    int me, n;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Comm_size(MPI_COMM_WORLD, &n);
    MPI_Comm ring = make_comm("ring"), bulk = make_comm("bulk");
    for (int i = 0; i < TIMES; i++) {
        double one = 1, sum;
        pass_on(ring, me, n);
        if (i % BULK == BULK / 2)
            send_late(bulk, me);
        MPI_Allreduce(&one, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    }
    if (argc > 1)
        use_files(argv[1], me);
    MPI_Comm_free(&ring);
    MPI_Comm_free(&bulk);
    MPI_Finalize();
    return 0;
}
